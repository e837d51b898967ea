import type { Account, Config } from '../config/config.ts';
import { attributesOf, type Span } from '../exporters/span.ts';
import { CommandError, EXIT, textOption, UsageError, type Call, type Command } from './command.ts';
import { CONFIG_OPTION, configPath, readConfig } from './config-file.ts';
import { OUTPUT_OPTION, outputFormat, usesColor, writeData } from './output.ts';

export const traceCommand: Command = {
  name: 'trace',
  summary: 'Print the trace id of a message, or its trace.',
  operands: { usage: 'id|show MESSAGE', min: 2, max: 2 },
  options: {
    account: { type: 'string', value: 'NAME', help: 'Account of the message; default: the only one configured.' },
    workflow: { type: 'boolean', help: 'MESSAGE is the id of a workflow run: the trace of its steps. With id.' },
    config: CONFIG_OPTION,
    output: OUTPUT_OPTION,
  },
  details:
    'id computes the trace id, and asks nobody; with --account it needs no configuration. show asks the log of the\n' +
    'service for the message and prints its trace as the daemon makes it, whether or not it was sent.',
  async run(call) {
    const [verb, id] = call.positionals as [string, string];
    if (verb !== 'id' && verb !== 'show') throw new UsageError(`opsd trace takes id or show, not '${verb}'`);
    if (verb === 'show' && call.values['workflow'] === true) throw new UsageError('--workflow goes with id alone');
    const format = outputFormat(call.values);
    return verb === 'id' ? printId(call, id, format) : show(call, id, format);
  },
};

type Format = ReturnType<typeof outputFormat>;

async function printId(call: Call, id: string, format: Format): Promise<number> {
  const account =
    textOption(call.values, 'account') ?? (await configuredAccount(call, { secrets: false }))?.account.name;
  if (account === undefined) return EXIT.failed;
  const { spanIdOf, traceIdOf, workflowTraceIdOf } = await import('../exporters/trace-ids.ts');
  const isRun = call.values['workflow'] === true;
  const traceId = isRun ? workflowTraceIdOf(account, id) : traceIdOf(account, id);
  if (format === 'table') call.io.stdout.write(`${traceId}\n`);
  else if (isRun) await writeData(call.io, format, { account, workflowRunId: id, traceId });
  else await writeData(call.io, format, { account, messageId: id, traceId, spanId: spanIdOf(account, id, 'deliver') });
  return EXIT.ok;
}

async function show(call: Call, messageId: string, format: Format): Promise<number> {
  const { io } = call;
  const configured = await configuredAccount(call, { secrets: true });
  if (configured === undefined) return EXIT.failed;
  const { config, account } = configured;
  const { traceFromLog } = await import('../exporters/log-trace.ts');
  const { readMessageLog } = await import('./message-log.ts');
  const about = { account: account.name, settings: config.telemetry.traces };
  const trace = await readMessageLog({ account, messageId, io }, (read) => traceFromLog(about, read));
  if (trace === undefined) throw new CommandError(`the log of account ${account.name} tells nothing of ${messageId}`);
  if (format !== 'table') {
    const { spans, isOpen, isSent } = trace;
    await writeData(io, format, { account: account.name, messageId, isOpen, isSent, spans: spans.map(readable) });
    return EXIT.ok;
  }
  const { traceText } = await import('./trace-text.ts');
  io.stdout.write(traceText(trace, { account: account.name, messageId, color: usesColor(io.stdout, io.env) }));
  return EXIT.ok;
}

function readable(span: Span): object {
  const { startMs, endMs, common: _common, attributes: _attributes, ...rest } = span;
  return {
    ...rest,
    start: new Date(startMs).toISOString(),
    end: new Date(endMs).toISOString(),
    attributes: Object.fromEntries(attributesOf(span)),
  };
}

/** The account that is meant; undefined when the configuration is not usable, which has then been said. */
async function configuredAccount(
  { io, values }: Call,
  options: { readonly secrets: boolean },
): Promise<{ readonly config: Config; readonly account: Account } | undefined> {
  const config = await readConfig(io, configPath(values, io.env), options);
  if (config === undefined) return undefined;
  const given = textOption(values, 'account');
  const account = given === undefined ? config.accounts[0] : config.accounts.find(({ name }) => name === given);
  const names = config.accounts.map(({ name }) => name).join(', ');
  if (account === undefined) throw new UsageError(`there is no account '${given}'; there are: ${names}`);
  if (given === undefined && config.accounts.length > 1) {
    throw new UsageError(`--account is needed, one of: ${names}`);
  }
  return { config, account };
}
