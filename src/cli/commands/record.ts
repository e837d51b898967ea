import { existsSync } from 'node:fs';
import { counted } from '#foundation/domain/counted.ts';
import { ownCommand, shellWord } from '#foundation/domain/own-command.ts';
import type { DeadLetterList, DeadLetterView } from '#operate/contract/dead-letters.ts';
import type { MessageRow } from '#operate/contract/messages.ts';
import { CommandError, EXIT, textOption, UsageError, valueOption, type Call, type Command } from '../command.ts';
import type { DaemonCall } from '../daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { request } from '../daemon-request.ts';
import { readPages } from '../list.ts';
import { writeAtOnce } from '../write-file.ts';
import { ACCOUNT_OPTION, integerOption } from '../list-options.ts';
import { requestOperation } from './operation-call.ts';
import { isQueueUnread, queueNote } from './queue-note.ts';
import type { Recorded, Recording } from './record-seed.ts';

const STANDARD_MAX = 1_000;
const MOST = 20_000;
/** Maximum number of flow-control keys, each of which is one request. */
const MOST_KEYS = 100;

export const recordCommand: Command = {
  name: 'record',
  summary: 'Record an account as a seed of the emulator, without its data.',
  options: {
    out: valueOption('FILE', 'Seed to write, - for stdout; required.'),
    max: valueOption('N', `Maximum number of messages, and of failed runs; default: ${STANDARD_MAX}.`),
    force: { type: 'boolean', help: 'Replace an existing file.' },
    account: ACCOUNT_OPTION,
    ...DAEMON_OPTIONS,
  },
  details:
    'Sends only GET requests to the service, and a read-only token is enough. The file has the newest messages, failed ' +
    'messages and failed runs, flow-control keys and URL Groups. Hosts, paths, labels, keys and names are pseudonyms; ' +
    'the same name has the same pseudonym. Ids, bodies, headers, queries and error texts are not in the file.\n' +
    'A message that waits or is retried waits in the emulator. A delivered one is delivered again at the start, to a ' +
    'scripted answer. Cancelled messages are left out. Failed messages are those of the log, since no operation lists ' +
    'the message DLQ. opsd emulator --seed FILE starts an emulator with it.',
  examples: ['opsd record --out seed.yaml', 'opsd record --out - --account production --max 200'],
  async run(call) {
    const { io, values } = call;
    const out = textOption(values, 'out');
    if (out === undefined) throw new UsageError('--out FILE is required; - is stdout');
    const max = integerOption(values, 'max', { min: 1, max: MOST }) ?? STANDARD_MAX;
    refuseExisting(out, values['force'] === true);
    const daemon = await findDaemon(call, { writes: false, collectors: ['workflowDlq', 'flowControl'] });
    const recorded = await readAccount(call, daemon, max);
    const { recordedSeed } = await import('./record-seed.ts');
    const recording = recordedSeed(recorded);
    const text = await seedText(recording);
    if (out === '-') io.stdout.write(text);
    else {
      // Again: the reading took a while.
      refuseExisting(out, values['force'] === true);
      writeAtOnce(out, text, 0o600);
    }
    const next =
      out === '-' ? '' : `Written: ${out}\nStart it: ${ownCommand(io.env, [])(`emulator --seed ${shellWord(out)}`)}\n`;
    io.stderr.write(`${summaryOf(recording)}\n${next}`);
    return EXIT.ok;
  },
};

function refuseExisting(out: string, isForced: boolean): void {
  if (out !== '-' && !isForced && existsSync(out)) {
    throw new CommandError(`${out} exists; nothing was changed. Replace it with --force, or name another file`);
  }
}

/** The first response names the account, or requires `--account` if there are several. */
async function readAccount({ io, values }: Call, daemon: DaemonCall, max: number): Promise<Recorded> {
  const given = textOption(values, 'account');
  const list = { path: '/api/v1/messages', key: 'messages', query: { account: given } };
  const { data, rows } = await readPages<MessageRow>(io, daemon, list, max);
  const account = data['account'] as string;
  const runs = { path: '/api/v1/dead-letters', key: 'deadLetters', query: { account, queue: 'workflow' } };
  const { data: letters, rows: failedRuns } = await readPages<DeadLetterView>(io, daemon, runs, max);
  const note = queueNote(letters as Pick<DeadLetterList, 'queues'>);
  if (isQueueUnread(letters as Pick<DeadLetterList, 'queues'>)) throw new CommandError(`${note}. Try again later`);
  const { keys } = await request(daemon, 'GET /api/v1/flow-control', { query: { account } });
  const watched = new Set(keys.map(({ flowControlKey }) => flowControlKey));
  const used = [...rows, ...failedRuns].flatMap(({ flowControlKey }) => flowControlKey ?? []);
  const others = [...new Set(used)].filter((key) => !watched.has(key)).slice(0, Math.max(0, MOST_KEYS - keys.length));
  const read = await Array.fromAsync(others, (flowControlKey) =>
    operation<Recorded['flowControlKeys'][number]>(daemon, 'get-flow-control', { account, flowControlKey }),
  );
  const urlGroups = await operation<Recorded['urlGroups']>(daemon, 'list-url-groups', { account });
  return {
    at: data['at'] as number,
    messages: rows.slice(0, max),
    failedRuns: failedRuns.slice(0, max),
    flowControlKeys: [...keys, ...read],
    urlGroups,
  };
}

async function operation<T>(daemon: DaemonCall, name: string, keys: Readonly<Record<string, unknown>>): Promise<T> {
  return JSON.parse((await requestOperation(name, keys, daemon)).text) as T;
}

/** YAML with one line for each item. */
async function seedText({ seed }: Recording): Promise<string> {
  const { stringify } = await import('yaml');
  const flow = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
  const parts = Object.entries(seed).map(([name, part]: [string, unknown]) => {
    if (typeof part !== 'object' || part === null) return `${name}: ${flow(part)}\n`;
    const lines = Array.isArray(part)
      ? part.map((item) => `  - ${flow(item)}\n`)
      : Object.entries(part).map(([key, value]) => `  ${key}: ${flow(value)}\n`);
    return lines.length === 0 ? '' : `${name}:\n${lines.join('')}`;
  });
  return `# Seed of an emulator, recorded by opsd record: opsd emulator --seed FILE
# Hosts, paths, labels, keys and names are pseudonyms. Bodies, headers and queries were left out.
${parts.join('')}`;
}

function summaryOf({ seed, leftOut }: Recording): string {
  const sum = (items: readonly { readonly count?: number | undefined }[] = []) =>
    items.reduce((total, { count = 1 }) => total + count, 0);
  const parts = [
    counted(sum(seed.messages), 'message'),
    counted(sum(seed.deadLetters), 'failed message'),
    counted(sum(seed.failedRuns), 'failed run'),
    counted(seed.flowControlKeys?.length ?? 0, 'flow-control key'),
    counted(seed.urlGroups?.length ?? 0, 'URL Group'),
  ];
  return `Recorded: ${parts.join(', ')}${leftOut === 0 ? '' : `; ${leftOut} left out, because a seed cannot have them`}`;
}
