/** `opsd help`, and the choice of the command that a command line names. */
import { suggestion } from '#foundation/domain/suggest.ts';
import { EXIT, UsageError, type Command } from './command.ts';
import { byFirstWord, commandHelp, nounHelp, overallHelp, verbsOf } from './help-text.ts';
import { COMMAND_GROUPS, COMMANDS, NOUNS, type ListedCommand } from './index.ts';

const helpCommand: Command = {
  name: 'help',
  summary: 'Show this help, or the help of a command.',
  operands: { usage: '[COMMAND]', min: 0, max: 2 },
  options: {},
  examples: ['opsd help', 'opsd help account stats'],
  async run({ io, positionals }) {
    io.stdout.write(await helpOf(positionals));
    return EXIT.ok;
  },
};

const HELP: ListedCommand = { name: helpCommand.name, load: () => Promise.resolve(helpCommand) };

/** All commands by what someone wants to do. */
export const HELP_GROUPS = { ...COMMAND_GROUPS, 'Look something up': [HELP, ...COMMAND_GROUPS['Look something up']!] };

/** All commands. */
export const ALL_COMMANDS: readonly ListedCommand[] = [...COMMANDS, HELP];

const BY_WORD = byFirstWord(ALL_COMMANDS);

/** Part of a command line that names a command. */
export interface Named {
  /** Absent for a noun without a verb. */
  readonly command?: Command;
  /** Words that name the command or the noun. */
  readonly topic: readonly string[];
  readonly args: readonly string[];
}

/** @throws {UsageError} with a suggestion */
export async function namedCommand(words: readonly string[]): Promise<Named> {
  const [noun = '', verb] = words;
  const named = BY_WORD.get(noun);
  if (named === undefined) throw new UsageError(`unknown command '${noun}'${suggestion(noun, BY_WORD.keys())}`);
  const both = named.find(({ name }) => name === `${noun} ${verb}`);
  if (both !== undefined) return { command: await both.load(), topic: words.slice(0, 2), args: words.slice(2) };
  const command = await named.find(({ name }) => name === noun)?.load();
  const verbs = verbsOf(noun, named);
  const isVerb = verb !== undefined && !verb.startsWith('-');
  if (isVerb && verbs.length > 0 && command?.operands === undefined) {
    const hint = suggestion(verb, verbs, `${noun} `) || `; its verbs: ${verbs.join(', ')}`;
    throw new UsageError(`${noun} has no verb '${verb}'${hint}`);
  }
  return { ...(command !== undefined && { command }), topic: [noun], args: words.slice(1) };
}

/** Words that name a command or a noun, also if the rest of the command line is wrong. */
export function topicOf([word = '', verb]: readonly string[]): readonly string[] {
  const named = BY_WORD.get(word) ?? [];
  if (named.some(({ name }) => name === `${word} ${verb}`)) return [word, verb!];
  return named.length === 0 ? [] : [word];
}

/** Help of the named command or noun; without words, of the program. */
export async function helpOf(words: readonly string[]): Promise<string> {
  if (words.length === 0) {
    const groups = Object.entries(HELP_GROUPS).map(async ([title, commands]) => [title, await loaded(commands)]);
    return overallHelp(Object.fromEntries(await Promise.all(groups)) as Record<string, readonly Command[]>, NOUNS);
  }
  const { command, topic, args } = await namedCommand(words);
  if (args.length > 0) throw new UsageError(`help does not take '${args[0]}'`);
  const [noun = ''] = topic;
  const named = await loaded(BY_WORD.get(noun)!);
  if (command === undefined) return nounHelp(noun, NOUNS[noun]!, named);
  return commandHelp(command, command.name === noun ? named.filter((one) => one !== command) : []);
}

function loaded(commands: readonly ListedCommand[]): Promise<readonly Command[]> {
  return Promise.all(commands.map((command) => command.load()));
}
