/**
 * `opsd __complete WORD…`: candidates for the last word, one on each line. The completion scripts of the shells call it.
 * It never fails, and writes nothing else, because a shell shows its output while the user types.
 */
import { parseArgs } from 'node:util';
import { shellWord } from '#foundation/domain/own-command.ts';
import { optionsOf, parserOptions } from './arguments.ts';
import {
  EXIT,
  type Call,
  type CliIo,
  type CliPrograms,
  type Command,
  type NameSource,
  type OptionValues,
} from './command.ts';
import { recordsOf } from '#foundation/domain/json.ts';
import { exchange } from './daemon-exchange.ts';
import { findDaemon } from './daemon-option.ts';
import { ALL_COMMANDS, namedCommand } from './help.ts';

/** Time limit of the request to the daemon, because a user waits for it. */
const LONGEST_MS = 1_000;

export async function complete(words: readonly string[], io: CliIo, programs: CliPrograms): Promise<number> {
  const current = words.at(-1) ?? '';
  const found = await candidates(words.slice(0, -1), current, { io, programs }).catch((): readonly string[] => []);
  // A shell takes a candidate as it is, so a name such as `$(reboot)` would be a command.
  const fitting = [...new Set(found)].filter((name) => name.startsWith(current) && shellWord(name) === name);
  io.stdout.write(fitting.map((name) => `${name}\n`).join(''));
  return EXIT.ok;
}

type Context = Pick<Call, 'io' | 'programs'>;

/** @param words complete words before the current one */
async function candidates(words: readonly string[], current: string, context: Context): Promise<readonly string[]> {
  if (words[0] === 'help') return nextWords(words.slice(1));
  if (words.length === 0) return nextWords(words);
  const { command, args } = await namedCommand(words);
  if (command === undefined) return nextWords(words);
  const options = optionsOf(command);
  const values = looseValues(command, args);
  const before = /^--([\w-]+)$|^-(\w)$/.exec(args.at(-1) ?? '');
  const option = Object.entries(options).find(
    ([name, { short }]) => before !== null && (name === before[1] || (short !== undefined && short === before[2])),
  )?.[1];
  if (option?.type === 'string') {
    if (option.names !== undefined) return namesOf(option.names, { ...context, values });
    return option.value?.includes('|') === true ? option.value.split('|') : [];
  }
  if (current.startsWith('-')) {
    const unused = Object.entries(options).filter(([name, { multiple }]) => !(name in values) || multiple === true);
    return unused.map(([name]) => `--${name}`);
  }
  const { names } = command.operands ?? {};
  const known = typeof names === 'string' ? await namesOf(names, { ...context, values }) : names;
  return [...nextWords(words), ...(known ?? [])];
}

/** Words that continue the name of a command. */
function nextWords(words: readonly string[]): readonly string[] {
  return ALL_COMMANDS.map(({ name }) => name.split(' '))
    .filter((name) => name.length > words.length && words.every((word, index) => word === name[index]))
    .map((name) => name[words.length]!);
}

/** Options of an unfinished command line. */
function looseValues(command: Command, args: readonly string[]): OptionValues {
  return parseArgs({ args: [...args], options: parserOptions(command), strict: false, allowPositionals: true }).values;
}

interface Names {
  readonly path: string;
  readonly list: string;
  readonly field: string;
}

const SOURCES: Readonly<Record<NameSource, Names>> = {
  account: { path: '/api/v1/status', list: 'accounts', field: 'name' },
  policy: { path: '/api/v1/policies', list: 'policies', field: 'name' },
  plan: { path: '/api/v1/plans', list: 'plans', field: 'id' },
  incident: { path: '/api/v1/incidents', list: 'incidents', field: 'id' },
  'flow-control-key': { path: '/api/v1/flow-control', list: 'keys', field: 'flowControlKey' },
};

/** Names that the daemon knows. Rejects without a daemon. */
async function namesOf(source: NameSource, context: Context & Pick<Call, 'values'>): Promise<readonly string[]> {
  const { clock, signal } = context.io;
  const late = new AbortController();
  using _timer = clock.after(LONGEST_MS, () => late.abort());
  const silent = { ...context.io, stderr: { write: () => true }, signal: AbortSignal.any([signal, late.signal]) };
  await using parts = new AsyncDisposableStack();
  const daemon = await findDaemon({ ...context, io: silent, parts, positionals: [] });
  const { path, list, field } = SOURCES[source];
  const answer = await exchange(daemon, { method: 'GET', path });
  return recordsOf(answer[list]).map((row) => String(row[field]));
}
