/** Texts of the help, generated from the table of commands. Pure. */
import { optionsOf } from './arguments.ts';
import type { Command, OptionSpec } from './command.ts';

/** Commands by the first word of their name, in the order of the table. */
export function byFirstWord<T extends Pick<Command, 'name'>>(
  commands: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(commands, ({ name }) => name.split(' ')[0]!);
}

/**
 * @param groups commands by what someone wants to do
 * @param nouns what the nouns of two-word commands name
 */
export function overallHelp(
  groups: Readonly<Record<string, readonly Command[]>>,
  nouns: Readonly<Record<string, string>>,
): string {
  const rows = Object.values(groups).map((commands) => [...byFirstWord(commands)].map((row) => rowOf(row, nouns)));
  const width = leftWidth(rows.flat());
  return [
    ...wrapped(
      'opsd watches accounts of a message delivery, workflow and search service: metrics, traces, and repairs by policy. Without a command, it says what to do next in this folder.',
    ),
    '',
    'Usage: opsd COMMAND [OPTION…]',
    ...Object.keys(groups).flatMap((title, index) => ['', `${title}:`, ...columns(rows[index]!, width)]),
    '',
    ...wrapped('Options and examples: opsd help COMMAND'),
    ...wrapped(
      'Exit codes: 0 success, 1 failure, 2 changes pending, 3 held or findings, 4 stopped by a guard, 5 nothing left to do, 64 wrong usage.',
    ),
    ...wrapped('Data goes to stdout, everything else to stderr. NO_COLOR is honored.'),
    '',
  ].join('\n');
}

/** Commands with one first word, and their verbs. */
function rowOf(
  [word, named]: readonly [string, readonly Command[]],
  nouns: Readonly<Record<string, string>>,
): readonly [string, string] {
  const own = named.find(({ name }) => name === word);
  const { names } = own?.operands ?? {};
  const verbs = [...(typeof names === 'object' ? names : []), ...verbsOf(word, named)];
  const what = nouns[word] ?? own!.summary.replace(/\.$/, '');
  return [word, verbs.length === 0 ? `${what}.` : `${what}: ${verbs.join(', ')}.`];
}

/** Help of a noun: its verbs. */
export function nounHelp(noun: string, what: string, commands: readonly Command[]): string {
  return [
    `${what}.`,
    '',
    `Usage: opsd ${noun} VERB [OPTION…]`,
    '',
    ...verbSection(commands),
    '',
    `More: opsd help ${noun} VERB`,
    '',
  ].join('\n');
}

/** @param verbs two-word commands whose noun is the command's name */
export function commandHelp(command: Command, verbs: readonly Command[]): string {
  const options = Object.entries(optionsOf(command)).map(([name, spec]): readonly [string, string] => [
    synopsis(name, spec),
    spec.help,
  ]);
  const usage = ['opsd', command.name, command.operands?.usage, '[OPTION…]'].filter((part) => part !== undefined);
  return [
    command.summary,
    '',
    ...wrapped(`Usage: ${usage.join(' ')}`),
    ...(command.details === undefined ? [] : ['', ...command.details.split('\n').flatMap((text) => wrapped(text))]),
    ...(verbs.length === 0 ? [] : ['', ...verbSection(verbs)]),
    '',
    'Options:',
    ...columns(options),
    '',
    'Examples:',
    ...command.examples.map((example) => `  ${example}`),
    '',
  ].join('\n');
}

export function verbsOf(noun: string, commands: readonly Pick<Command, 'name'>[]): readonly string[] {
  return commands.filter(({ name }) => name !== noun).map(({ name }) => name.slice(noun.length + 1));
}

function verbSection(commands: readonly Command[]): string[] {
  return ['Verbs:', ...columns(commands.map(({ name, summary }) => [name, summary]))];
}

function synopsis(name: string, spec: OptionSpec): string {
  const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
  return `${short}--${name}${spec.value === undefined ? '' : ` ${spec.value}`}`;
}

/** Columns of the help. */
const WIDTH = 80;
/** A longer left side has a line of its own. */
const WIDEST_LEFT = 28;

function leftWidth(rows: readonly (readonly [string, string])[]): number {
  return Math.max(0, ...rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT));
}

function columns(rows: readonly (readonly [string, string])[], width = leftWidth(rows)): string[] {
  return rows.flatMap(([left, right]) => {
    const texts = wrapped(right, WIDTH - width - 4);
    const lefts = left.length <= width ? [left] : [left, ''];
    const first = lefts.length - 1;
    return [
      ...lefts.slice(0, first).map((text) => `  ${text}`),
      ...texts.map((text, index) => `  ${(index === 0 ? lefts[first]! : '').padEnd(width)}  ${text}`),
    ];
  });
}

/** Lines of at most `width` columns, unless a word is longer. */
export function wrapped(text: string, width = WIDTH): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
