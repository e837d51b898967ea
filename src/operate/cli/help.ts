/** Help, generated from the table of commands. */
import { nearest } from '#foundation/domain/suggest.ts';
import { optionsOf } from './arguments.ts';
import { EXIT, UsageError, type Command, type OptionSpec } from './command.ts';
import { COMMANDS } from './index.ts';

export const helpCommand: Command = {
  name: 'help',
  summary: 'Show this help, or the help of a command.',
  operands: { usage: '[COMMAND]', min: 0, max: 1 },
  options: {},
  run({ io, positionals }) {
    const [topic] = positionals;
    io.stdout.write(topic === undefined ? overallHelp() : commandHelp(commandNamed(topic)));
    return Promise.resolve(EXIT.ok);
  },
};

/** @throws {UsageError} with a suggestion */
export function commandNamed(name: string): Command {
  const known = [...COMMANDS, helpCommand];
  const command = known.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const meant = nearest(
    name,
    known.map((candidate) => candidate.name),
  );
  throw new UsageError(`unknown command '${name}'${meant === undefined ? '' : `; did you mean ${meant}?`}`);
}

export function overallHelp(): string {
  const commands = [...COMMANDS, helpCommand];
  return [
    'opsd watches accounts of a message delivery, workflow and search service: metrics, traces, and repairs by policy.',
    '',
    'Usage: opsd COMMAND [OPTION…]',
    '',
    'Commands:',
    ...columns(commands.map((command) => [command.name, command.summary])),
    '',
    'Exit codes: 0 success, 1 failure, 2 changes pending, 3 held, 4 stopped by a guard, 64 wrong usage.',
    'Data goes to stdout, everything else to stderr. NO_COLOR is honored. More: opsd help COMMAND',
    '',
  ].join('\n');
}

export function commandHelp(command: Command): string {
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
    '',
    'Options:',
    ...columns(options),
    '',
  ].join('\n');
}

function synopsis(name: string, spec: OptionSpec): string {
  const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
  return `${short}--${name}${spec.value === undefined ? '' : ` ${spec.value}`}`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
