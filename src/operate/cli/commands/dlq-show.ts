import { EXIT, textOption, type Command } from '../command.ts';
import { exchange, pathWith } from '../daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { OUTPUT_OPTION, outputFormat, painter, printable, textTable, usesColor, writeData } from '../output.ts';
import type { DeadLetterView as DeadLetterRow } from '../../contract/dead-letters.ts';
import { expiryText } from './incidents.ts';
import { ago } from './state-lines.ts';

interface Document {
  readonly at: number;
  readonly deadLetter: DeadLetterRow;
  readonly actions: readonly {
    readonly at: number;
    readonly policy: string;
    readonly action: string;
    readonly outcome: string;
  }[];
  readonly sample?: Readonly<Record<string, unknown>>;
}

export const dlqShowCommand: Command = {
  name: 'dlq show',
  summary: 'Show one dead letter: its failure, its expiry, and the actions on it.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: {
    account: { ...ACCOUNT_OPTION, help: 'Account, if several have this id.' },
    body: { type: 'boolean', help: 'Also body and headers, without credentials. Needs the role operator.' },
    ...DAEMON_OPTIONS,
    output: OUTPUT_OPTION,
  },
  details: '--body sends one request to the service. opsd explain ID has the verdict of each policy.',
  examples: ['opsd dlq show dlq-8812', 'opsd dlq show dlq-8812 --body -o json'],
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call, { writes: false, collectors: ['workflowDlq'] });
    if (daemon === undefined) return EXIT.failed;
    const account = textOption(call.values, 'account');
    const body = call.values['body'] === true ? 'true' : undefined;
    const path = pathWith(`/api/v1/dead-letters/${encodeURIComponent(call.positionals[0]!)}`, { account, body });
    const data = await exchange(daemon, { method: 'GET', path });
    if (format === 'table') {
      const paint = painter(usesColor(call.io.stdout, call.io.env));
      call.io.stdout.write(documentText(data as unknown as Document, (text) => paint('dim', text)));
    } else await writeData(call.io, format, data);
    return EXIT.ok;
  },
};

function documentText({ at, deadLetter, actions, sample }: Document, dim: (text: string) => string): string {
  const rows = Object.entries(fieldsOf(deadLetter, at)).filter((row): row is [string, string] => row[1] !== undefined);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = [
    `Dead letter ${printable(deadLetter.id)} in the ${printable(deadLetter.queue)} DLQ of ${printable(deadLetter.account)}`,
    ...rows.map(([name, text]) => `  ${dim(name.padEnd(width))}  ${printable(text)}`),
    ...Object.entries(sample ?? {}).map(([name, value]) => `  ${dim(name)}: ${printable(textOf(value))}`),
  ];
  const text = lines.map((line) => `${line}\n`).join('');
  if (actions.length === 0) return `${text}No action on it so far.\n`;
  const table = actions.map((row) => [ago(row.at, at), row.policy, row.action, row.outcome.replaceAll('_', ' ')]);
  return `${text}\n${textTable(['TIME', 'POLICY', 'ACTION', 'OUTCOME'], table)}`;
}

function fieldsOf(row: DeadLetterRow, at: number): Readonly<Record<string, string | undefined>> {
  return {
    failed: `${new Date(row.failedAt).toISOString()} (${ago(row.failedAt, at)})`,
    expires: row.expiresAt === undefined ? undefined : expiryText(row.expiresAt, at),
    reason: `${row.reason} (${row.cause})`,
    response: row.responseText,
    workflow: row.workflowUrl,
    run: row.workflowRunId,
    message: row.messageId,
    url: row.url,
    method: row.method,
    'url group': row.topicName,
    schedule: row.scheduleId,
    retries: (row.retried ?? row.maxRetries)?.toString(),
    labels: row.labels.length === 0 ? undefined : row.labels.join(', '),
    'flow-control key': row.flowControlKey,
    'caller ip': row.callerIp,
    'failure function': row.failureFunctionState,
    incident: row.incident,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
