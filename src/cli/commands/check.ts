import type { Config } from '#config/config.ts';
import { counted } from '#foundation/domain/counted.ts';
import type { Overview } from '#config/overview.ts';
import type { Tried } from './check-connect.ts';
import { EXIT, textOption, UsageError, valueOption, type Command, type CliIo, type OptionValues } from '../command.ts';
import { configPath } from '../config-file.ts';
import { OUTPUT_OPTION, outputFormat, painter, printable, textTable, usesColor, writeData } from '../output.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'Check a configuration and its policies.',
  operands: { usage: '[FILE]', min: 0, max: 1 },
  options: {
    connect: {
      type: 'boolean',
      help: 'Check addresses and credentials: one GET for each credential, never a write.',
    },
    'no-secrets': { type: 'boolean', help: 'Do not read the files of secrets, for CI.' },
    messages: valueOption('N', 'Messages a day of each account, for the estimate; default: 10000.'),
    'failed-runs': valueOption('N', 'Runs in its workflow DLQ, for the estimate; default: 100.'),
    output: OUTPUT_OPTION,
  },
  details:
    'FILE is $OPSD_CONFIG by default, else ./config.yaml. Prints every problem as file:line:column with its fix, else ' +
    'the effective settings. The verdict is the last line.\n' +
    'Exit code: 0 if the configuration is valid and no connection failed, else 1. Estimates series, calls and bytes a ' +
    'day, and warns if they exceed the limits. --connect reads one entry of the workflow DLQ with each token, and an ' +
    'hour of statistics with the password.',
  examples: ['opsd check opsd.yaml', 'opsd check --connect -o json opsd.yaml'],
  async run({ io, values, positionals }) {
    const format = outputFormat(values);
    const file = positionals[0] ?? configPath({}, io.env);
    const traffic = {
      messagesPerDay: countOption(values, 'messages', 10_000),
      failedRuns: countOption(values, 'failed-runs', 100),
    };
    const isConnecting = values['connect'] === true;
    if (isConnecting && values['no-secrets'] === true) {
      throw new UsageError('--connect needs the secrets that --no-secrets leaves out; remove one of them');
    }
    const { formatProblems, loadConfig } = await import('#config/load.ts');
    const loaded = loadConfig(file, { env: io.env, secrets: values['no-secrets'] !== true });
    const problems = loaded.ok ? loaded.warnings : loaded.problems;
    const { overviewOf } = await import('#config/overview.ts');
    const overview = loaded.ok ? overviewOf(loaded.config) : undefined;
    const { estimateOf, estimateText } = await import('./estimate.ts');
    const estimate = loaded.ok ? estimateOf(loaded.config, traffic) : undefined;
    const tried = loaded.ok && isConnecting ? await connectionsOf(loaded.config, io) : undefined;
    const failures = (tried ?? []).filter(({ ok }) => !ok).length;
    const isGood = loaded.ok && failures === 0;
    if (format !== 'table') {
      const about = { ...overview, ...(estimate && { estimate }), ...(tried && { connections: tried }) };
      await writeData(io, format, { file, valid: loaded.ok, problems, ...about });
      return isGood ? EXIT.ok : EXIT.failed;
    }
    if (problems.length > 0) {
      io.stderr.write(`${formatProblems(problems, { color: usesColor(io.stderr, io.env) })}\n`);
    }
    if (overview === undefined || estimate === undefined) {
      const errors = problems.filter((problem) => problem.severity === 'error').length;
      io.stderr.write(`\n${printable(file)}: ${counted(errors, 'problem')}. ${SECOND_PASS}\n`);
      return EXIT.failed;
    }
    io.stdout.write(`${overviewText(overview)}\n${estimateText(estimate)}`);
    for (const warning of estimate.warnings) io.stderr.write(`warning: ${printable(warning)}\n`);
    if (tried !== undefined) io.stdout.write(`\n${connectionsText(tried)}`);
    // The last line is the only verdict.
    if (isGood) io.stdout.write(`\n${validText(file, overview, io)}\n`);
    else io.stderr.write(`\n${printable(file)}: ${failures} of ${counted(tried!.length, 'connection')} failed\n`);
    return isGood ? EXIT.ok : EXIT.failed;
  },
};

/** Problems that this pass cannot report: those behind other problems. */
const SECOND_PASS = 'Check again after the repair: what a syntax error or an unknown key hides is checked then.';

async function connectionsOf(config: Config, io: CliIo): Promise<readonly Tried[]> {
  const { tryConnections } = await import('./check-connect.ts');
  const attempts = await tryConnections(config, io);
  return attempts.map(({ account, credential, call, ok, result }) => ({ account, credential, call, ok, result }));
}

function connectionsText(tried: readonly Tried[]): string {
  if (tried.length === 0) return 'No connections to check: embedded services start with the daemon.\n';
  return textTable(
    ['CONNECTION', 'CREDENTIAL', 'CALL', 'RESULT'],
    tried.map(({ account, credential, call, ok, result }) => [
      account,
      credential,
      call,
      ok ? result : `failed: ${printable(result)}`,
    ]),
  );
}

function validText(file: string, { accounts, collectors, policies }: Overview, io: CliIo): string {
  const paint = painter(usesColor(io.stdout, io.env));
  const running = collectors.filter((collector) => collector.off === undefined).length;
  const counts = [
    counted(accounts.length, 'account'),
    counted(running, 'collector'),
    counted(policies.length, 'policy', 'policies'),
  ];
  return `${paint('green', `${printable(file)} is valid`)}: ${counts.join(', ')}`;
}

function overviewText({ accounts, collectors, policies }: Overview): string {
  return [
    textTable(
      ['ACCOUNT', 'MESSAGE API', 'MANAGEMENT API'],
      accounts.map(({ name, messageApiUrl, managementApiUrl }) => [
        name,
        messageApiUrl ?? '–',
        managementApiUrl ?? '–',
      ]),
    ),
    textTable(
      ['COLLECTOR', 'ACCOUNT', 'SCHEDULE'],
      collectors.map(({ collector, account, schedule, off }) => [collector, account, schedule ?? `off: ${off}`]),
    ),
    policies.length === 0
      ? 'No policies: the daemon only reads.\n'
      : textTable(
          ['POLICY', 'ACCOUNT', 'MODE', 'SCHEDULE', 'SOURCE'],
          policies.map(({ name, account, mode, effectiveMode, schedule, source }) => [
            name,
            account,
            mode === effectiveMode ? mode : `${mode}, limited to ${effectiveMode} by engine.mode`,
            schedule,
            source,
          ]),
        ),
  ].join('\n');
}

function countOption(values: OptionValues, name: string, standard: number): number {
  const text = textOption(values, name);
  if (text === undefined) return standard;
  if (!/^\d{1,12}$/.test(text)) throw new UsageError(`--${name} must be an integer, not ${text}`);
  return Number(text);
}
