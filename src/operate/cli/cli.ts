/** Command line as a function: arguments in, exit code out. It never ends the process. */
import { ownCommand } from '#foundation/domain/own-command.ts';
import { redact } from '#foundation/domain/redact.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { parseArguments } from './arguments.ts';
import { CommandError, EXIT, UsageError, type CliIo, type CliPrograms, type Command } from './command.ts';
import { commandHelp, commandNamed, helpCommand, overallHelp } from './help.ts';
import { COMMANDS } from './index.ts';

export type { CliIo, CliPrograms } from './command.ts';

/** @returns the exit code; see `EXIT` */
export async function runCli(argv: readonly string[], io: CliIo, programs: CliPrograms): Promise<number> {
  const [word, ...args] = argv;
  if (word === undefined) {
    io.stderr.write(overallHelp());
    return EXIT.usage;
  }
  try {
    const command = findCommand(word);
    const { values, positionals } = parseArguments(command, args);
    if (values['help'] === true) {
      io.stdout.write(commandHelp(command));
      return EXIT.ok;
    }
    await using parts = new AsyncDisposableStack();
    return await command.run({ io, programs, parts, values, positionals });
  } catch (error) {
    return explain(error, word, io);
  }
}

/** Aliases that users of other programs expect. */
const ALIASES: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-V': 'version',
};

function findCommand(word: string): Command {
  const name = ALIASES[word] ?? word;
  if (name.startsWith('-')) throw new UsageError(`the first argument must be a command, not ${name}`);
  return commandNamed(name);
}

function explain(error: unknown, word: string, io: CliIo): number {
  if (error instanceof UsageError) {
    const topic = [...COMMANDS, helpCommand].some((command) => command.name === word) ? ` ${word}` : '';
    io.stderr.write(`opsd: ${redact(error.message)}\nSee: ${ownCommand(io.env, [])(`help${topic}`)}\n`);
    return EXIT.usage;
  }
  if (io.signal.aborted && error === io.signal.reason) {
    io.stderr.write(`opsd: ${errorMessage(error)}\n`);
    return EXIT.failed;
  }
  io.stderr.write(`opsd: ${redact(describe(error))}\n`);
  return EXIT.failed;
}

/** Returns a message for errors that a user can fix, and the stack for errors of the program. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const ours = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return ours && !(error instanceof CommandError) ? (error.stack ?? error.message) : error.message;
}
