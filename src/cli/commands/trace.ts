import type { Account, Config } from '#config/config.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { LogTrace } from '#observe/tracing/log-trace.ts';
import { attributesOf, type Span } from '#observe/tracing/span.ts';
import { CommandError, EXIT, textOption, UsageError, valueOption, type Call, type Command } from '../command.ts';
import { CONFIG_OPTION, neededConfig } from '../config-file.ts';
import { commandOf } from '../daemon-option.ts';
import type { FailedRun } from '#service/failed-run.ts';
import { OUTPUT_OPTION, outputFormat, printable, usesColor, writeData } from '../output.ts';

export const traceCommand: Command = {
  name: 'trace',
  summary: 'Print the trace id of a message, or its trace.',
  operands: { usage: 'id|show ID', min: 2, max: 2, names: ['id', 'show'] },
  options: {
    account: valueOption('NAME', 'Account of the id; default: the only one configured.'),
    workflow: { type: 'boolean', help: 'ID is a workflow run: print the trace id of its steps. Only with id.' },
    config: CONFIG_OPTION,
    output: OUTPUT_OPTION,
  },
  details:
    'id computes the trace id of a message without a request; with --account it needs no configuration. show reads a ' +
    'message from the service, or the messages of a failed run by its run id or dlqId, and prints their traces as the ' +
    'daemon makes them, even if they were not sent.',
  examples: ['opsd trace id msg_4711', 'opsd trace show msg_4711'],
  async run(call) {
    const [command, id] = call.positionals as [string, string];
    if (command !== 'id' && command !== 'show')
      throw new UsageError(`the first operand of trace must be id or show, not '${command}'`);
    if (command === 'show' && call.values['workflow'] === true) throw new UsageError('--workflow requires trace id');
    const format = outputFormat(call.values);
    return command === 'id' ? printId(call, id, format) : show(call, id, format);
  },
};

type Format = ReturnType<typeof outputFormat>;

async function printId(call: Call, id: string, format: Format): Promise<number> {
  const account =
    textOption(call.values, 'account') ?? (await configuredAccount(call, { secrets: false })).account.name;
  const { spanIdOf, traceIdOf, workflowTraceIdOf } = await import('#observe/tracing/trace-ids.ts');
  const isRun = call.values['workflow'] === true;
  const traceId = isRun ? workflowTraceIdOf(account, id) : traceIdOf(account, id);
  if (format === 'table') call.io.stdout.write(`${traceId}\n`);
  else if (isRun) await writeData(call.io, format, { account, workflowRunId: id, traceId });
  else await writeData(call.io, format, { account, messageId: id, traceId, spanId: spanIdOf(account, id, 'deliver') });
  return EXIT.ok;
}

async function show(call: Call, id: string, format: Format): Promise<number> {
  const { io } = call;
  const { config, account } = await configuredAccount(call, { secrets: true });
  const { traceFromLog } = await import('#observe/tracing/log-trace.ts');
  const { readerOf } = await import('#service/message-log.ts');
  const { withMessageApi } = await import('./message-log.ts');
  const about = { account: account.name, settings: config.telemetry.traces };
  const shown = await withMessageApi({ account, io }, async (api): Promise<Shown> => {
    const traceOf = (messageId: string) => traceFromLog(about, readerOf(api, messageId, io.signal));
    const trace = await traceOf(id);
    if (trace !== undefined) return { messages: [{ messageId: id, trace }] };
    const { findFailedRun } = await import('#service/failed-run.ts');
    const run = await findFailedRun(api, id, io.signal);
    if (run === undefined) throw new CommandError(unknownText(account.name, id, commandOf(call)));
    const messages: TracedMessage[] = [];
    for (const messageId of run.messageIds) {
      const found = await traceOf(messageId);
      if (found !== undefined) messages.push({ messageId, trace: found });
    }
    return { run, messages };
  });
  if (format === 'table') io.stdout.write(await shownText(call, account.name, shown));
  else await writeData(io, format, await shownData(account.name, shown));
  return EXIT.ok;
}

interface TracedMessage {
  readonly messageId: string;
  readonly trace: LogTrace;
}

interface Shown {
  /** Set if the id names a failed run or its entry. */
  readonly run?: FailedRun;
  readonly messages: readonly TracedMessage[];
}

function unknownText(account: string, id: string, command: OwnCommand): string {
  const what = `account ${account} has no message in its log and no failed workflow run ${id}`;
  return `${what}; to find the message of a message DLQ entry, run \`${command('explain ID')}\``;
}

async function shownText({ io }: Call, account: string, { run, messages }: Shown): Promise<string> {
  const { traceText } = await import('./trace-text.ts');
  const color = usesColor(io.stdout, io.env);
  const texts = messages.map(({ messageId, trace }) => traceText(trace, { account, messageId, color }));
  if (run === undefined) return texts.join('\n');
  const { workflowTraceIdOf } = await import('#observe/tracing/trace-ids.ts');
  const { workflowRunId, dlqId } = run;
  const count =
    messages.length === 0 ? 'the log has none of its messages' : `its messages in the log: ${messages.length}`;
  const head = `failed run ${printable(workflowRunId)} of account ${printable(account)}, entry ${printable(dlqId)}; ${count}`;
  return [`trace ${workflowTraceIdOf(account, workflowRunId)}\n${head}\n`, ...texts].join('\n');
}

async function shownData(account: string, { run, messages }: Shown): Promise<object> {
  const data = messages.map(({ messageId, trace: { spans, isOpen, isSent } }) => ({
    messageId,
    isOpen,
    isSent,
    spans: spans.map(readable),
  }));
  if (run === undefined) return { account, ...data[0] };
  const { workflowTraceIdOf } = await import('#observe/tracing/trace-ids.ts');
  const { workflowRunId, dlqId } = run;
  return { account, workflowRunId, dlqId, traceId: workflowTraceIdOf(account, workflowRunId), messages: data };
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

/** Account of the call. @throws {ReportedError} if the configuration is invalid */
async function configuredAccount(
  call: Call,
  options: { readonly secrets: boolean },
): Promise<{ readonly config: Config; readonly account: Account }> {
  const { values } = call;
  const config = await neededConfig(call, options);
  const given = textOption(values, 'account');
  const account = given === undefined ? config.accounts[0] : config.accounts.find(({ name }) => name === given);
  const names = config.accounts.map(({ name }) => name).join(', ');
  if (account === undefined) throw new UsageError(`unknown account '${given}'; it must be one of: ${names}`);
  if (given === undefined && config.accounts.length > 1) {
    throw new UsageError(`--account is required, one of: ${names}`);
  }
  return { config, account };
}
