/** `opsd` without arguments: what to do next in this folder, or the state of its daemon in five lines. */
import { existsSync } from 'node:fs';
import { counted } from '#foundation/domain/counted.ts';
import { ownCommand, shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { planPath } from '#operate/contract/page-paths.ts';
import type { StoredPlanView } from '#operate/contract/plans.ts';
import { problemText, type StatusFacts } from '#operate/contract/status.ts';
import { type Cell, code, faint, state } from '#foundation/markup/cell.ts';
import { cutLine, label } from '#operate/show/text.ts';
import { EXIT, ReportedError, type Call } from '../command.ts';
import { configPath } from '../config-file.ts';
import { isNobodyThere, type DaemonCall } from '../daemon-exchange.ts';
import { findDaemon } from '../daemon-option.ts';
import { request } from '../daemon-request.ts';
import { wrapped } from '../help-text.ts';
import { textStyle, type TextStyle } from '../output.ts';
import { marked, upText } from './state-lines.ts';

export async function showHere(call: Call): Promise<number> {
  const { io } = call;
  const daemon = await daemonHere(call);
  try {
    if (daemon !== undefined) {
      io.stdout.write(briefText(await briefOf(daemon), { ...textStyle(io), command: daemon.command }));
      return EXIT.ok;
    }
  } catch (error) {
    // A daemon that the environment names must respond.
    if (!isNobodyThere(error) || io.env['OPSD_URL'] || io.env['OPSD_SOCKET']) throw error;
  }
  io.stdout.write(nextText(configPath({}, io.env), { isValid: daemon !== undefined, command: ownCommand(io.env, []) }));
  return EXIT.ok;
}

/** @returns undefined if the configuration is invalid or absent, and no socket exists at its place */
async function daemonHere(call: Call): Promise<DaemonCall | undefined> {
  const silent = { ...call.io, stderr: { write: () => true } };
  try {
    return await findDaemon({ ...call, io: silent });
  } catch (error) {
    if (error instanceof ReportedError) return undefined;
    throw error;
  }
}

function nextText(file: string, { isValid, command }: { readonly isValid: boolean; readonly command: OwnCommand }) {
  const check = [command('check'), 'Check it: every problem, with its line and its fix.'] as const;
  const run = [command('run'), 'Start the daemon.'] as const;
  const [what, rows] = !existsSync(file)
    ? [
        `There is no configuration at ${file}.`,
        [
          [
            command(file === 'config.yaml' ? 'init' : `init --output ${shellWord(file)}`),
            'Connect an account: asks for its URL and token, tries them, and writes the file.',
          ],
          [command('demo'), 'Look around first: a daemon with sample traffic, without an account.'],
        ] as const,
      ]
    : isValid
      ? [`The configuration ${file} is here, and no daemon runs with it.`, [check, run]]
      : [`The configuration ${file} is invalid.`, [check]];
  return [
    what,
    '',
    ...rows.flatMap(([next, why]) => [`  ${next}`, ...wrapped(why, 74).map((text) => `      ${text}`)]),
    '',
    `All commands: ${command('help')}`,
    '',
  ].join('\n');
}

interface Brief {
  readonly status: Pick<StatusFacts, 'at' | 'startedAt' | 'version' | 'verdict' | 'pagesUrl'>;
  readonly openIncidents: number;
  /** Undefined if the store cannot be read. */
  readonly pending: readonly Pick<StoredPlanView, 'id'>[] | undefined;
}

async function briefOf(daemon: DaemonCall): Promise<Brief> {
  const status = await request(daemon, 'GET /api/v1/status');
  const { total } = await request(daemon, 'GET /api/v1/incidents', { query: { state: ['open'], limit: 1 } });
  const isRead = status.storeError === undefined;
  const { plans } = isRead ? await request(daemon, 'GET /api/v1/plans', { query: { state: ['pending'] } }) : {};
  const pagesUrl = 'url' in daemon ? daemon.url.href : status.pagesUrl;
  return { status: { ...status, pagesUrl }, openIncidents: total, pending: plans };
}

/** Five lines, which a terminal cuts at its width. */
function briefText(
  { status, openIncidents, pending }: Brief,
  { color, width = Infinity, command }: TextStyle & { readonly command: OwnCommand },
): string {
  const { level, sentence, problems } = status.verdict;
  // A plan has a line of its own.
  const others = problems.filter(({ path }) => !(pending ?? []).some(({ id }) => path === planPath(id)));
  const worst = others.find((problem) => problem.level === level) ?? problems[0];
  const verdict =
    worst === undefined || level === 'starting' ? sentence : `${level}: ${counted(problems.length, 'problem')}`;
  const [plan] = pending ?? [];
  const lines: readonly Cell[] = [
    [marked(level, verdict), faint(`  opsd ${status.version}, ${upText(status)}`)],
    [label('problem'), worst === undefined ? 'none' : marked(worst.level, problemText(worst))],
    [
      label('incidents'),
      openIncidents === 0 ? 'none open' : [state('trouble', `${openIncidents} open`), '  ', code(command('incidents'))],
    ],
    [
      label('approvals'),
      pending === undefined
        ? 'unknown: the store cannot be read'
        : plan === undefined
          ? 'none pending'
          : [
              state('attention', `${pending.length} pending`),
              '  ',
              code(command(pending.length === 1 ? `approve ${shellWord(plan.id)}` : 'status')),
            ],
    ],
    [label('pages'), status.pagesUrl ?? 'not served', faint('  more: '), code(command('status'))],
  ];
  return lines.map((line) => `${cutLine(line, width, color)}\n`).join('');
}
