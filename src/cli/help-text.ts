/** Texts of the help, generated from the table of commands. Pure. */
import { optionsOf } from './arguments.ts';
import type { Command, OptionSpec } from './command.ts';

/** Commands by the first word of their name, in the order of the table. */
export function byFirstWord<T extends Pick<Command, 'name'>>(
  commands: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(commands, ({ name }) => name.split(' ')[0]!);
}

/** @param nouns what the nouns of two-word commands name */
export function overallHelp(commands: readonly Command[], nouns: Readonly<Record<string, string>>): string {
  const rows = [...byFirstWord(commands)].map(([word, named]): [string, string] => {
    const own = named.find(({ name }) => name === word);
    const verbs = verbsOf(word, named).join(', ');
    if (own === undefined) return [`${word} VERB`, `${nouns[word]}: ${verbs}.`];
    return [word, verbs === '' ? own.summary : `${own.summary} Verbs: ${verbs}.`];
  });
  return [
    'opsd watches accounts of a message delivery, workflow and search service: metrics, traces, and repairs by policy.',
    '',
    'Usage: opsd COMMAND [OPTION…]',
    '',
    'Commands:',
    ...columns(rows),
    '',
    'Exit codes: 0 success, 1 failure, 2 changes pending, 3 held or findings, 4 stopped by a guard, 64 wrong usage.',
    'Data goes to stdout, everything else to stderr. NO_COLOR is honored. More: opsd help COMMAND',
    '',
  ].join('\n');
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
    `Usage: ${usage.join(' ')}`,
    ...(command.details === undefined ? [] : ['', command.details]),
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

/** A longer left side has a line of its own. */
const WIDEST_LEFT = 40;

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT));
  return rows.flatMap(([left, right]) =>
    left.length <= width ? [`  ${left.padEnd(width)}  ${right}`] : [`  ${left}`, `  ${' '.repeat(width)}  ${right}`],
  );
}
