import type { Config } from '#config/config.ts';
import { counted } from '#foundation/domain/counted.ts';
import { type Cell, faint, state } from '#foundation/markup/cell.ts';
import { lineText } from '#operate/show/text.ts';
import { EXIT, textOption, valueOption, type Call, type CliIo } from '../command.ts';
import { daemonCommand } from '../daemon-command.ts';
import { textStyle, type TextStyle } from '../output.ts';
import type { Check } from './doctor-check.ts';
import type { Running } from './doctor-daemon.ts';

export const doctorCommand = daemonCommand({
  name: 'doctor',
  summary: 'Check addresses, credentials, clock, webhooks and the store.',
  options: {
    prometheus: valueOption('URL', 'Also check that this Prometheus scrapes the daemon.'),
  },
  details:
    'Works with and without a running daemon; with --url it checks only that daemon. It sends GET and HEAD requests, and ' +
    'changes nothing.\nExit code: 0 if all is well, 3 if there are findings.',
  examples: ['opsd doctor --config opsd.yaml', 'opsd doctor --prometheus http://127.0.0.1:9090 -o json'],
  async answer(call) {
    const checks = await allChecks(call);
    const findings = checks.filter(({ state }) => state === 'finding').length;
    const text = () => checksText(checks, textStyle(call.io));
    return { data: { findings, checks }, text, code: findings === 0 ? EXIT.ok : EXIT.findings };
  },
});

async function allChecks(call: Call): Promise<readonly Check[]> {
  const { io, values } = call;
  const { checkConfiguration, checkDaemon } = await import('./doctor-daemon.ts');
  const { checkService } = await import('./doctor-service.ts');
  const { checkScrape, checkPrometheus } = await import('./doctor-metrics.ts');
  const { checkWebhooks } = await import('./doctor-webhooks.ts');
  const { config, checks } = checkConfiguration(call);
  const daemon = await checkDaemon(call, config);
  const running = daemon.running;
  const prometheus = textOption(values, 'prometheus');
  return [
    ...checks,
    ...daemon.checks,
    ...(config === undefined ? [] : await checkService(config, io)),
    ...(config === undefined ? [] : await checkWebhooks(config, running !== undefined, io)),
    ...(running === undefined ? [] : await checkScrape(running, config, io)),
    ...(prometheus === undefined ? [] : await checkPrometheus(prometheus, config, io)),
    ...(config === undefined ? [] : await checkStorage(config, running, io)),
  ];
}

async function checkStorage(config: Config, running: Running | undefined, io: CliIo): Promise<readonly Check[]> {
  const { postgres } = config.storage;
  if (postgres === undefined) {
    const { checkStore } = await import('./doctor-store.ts');
    return checkStore(config.localPath, running);
  }
  const { checkDatabase } = await import('./doctor-database.ts');
  return checkDatabase(postgres, running !== undefined, io);
}

const MARKS: Readonly<Record<Check['state'], Cell>> = {
  ok: state('ok', '✓ '),
  finding: state('trouble', '✗ '),
  skipped: faint('– '),
};

function checksText(checks: readonly Check[], style: TextStyle): string {
  const names = Math.max(...checks.map(({ check }) => check.length));
  const indent = names + 4;
  const lines = checks.flatMap(({ check, subject, state: now, result, fix }): Cell[] => {
    const about = subject === undefined ? '' : `${subject}: `;
    const line = [MARKS[now], `${check.padEnd(names)}  ${about}${result}`];
    return fix === undefined ? [line] : [line, [' '.repeat(indent), state('attention', `Fix: ${fix}`)]];
  });
  const findings = checks.filter((check) => check.state === 'finding').length;
  const end = findings === 0 ? 'No findings.' : `${counted(findings, 'finding')}.`;
  return `${lines.map((line) => lineText(line, style, indent)).join('')}\n${end}\n`;
}
