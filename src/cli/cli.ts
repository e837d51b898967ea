/** Command line as a function: arguments in, exit code out. It never ends the process. */
import { ownCommand } from '#foundation/domain/own-command.ts';
import { redact } from '#foundation/domain/redact.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { parseArguments } from './arguments.ts';
import { CommandError, EXIT, ReportedError, UsageError, type CliIo, type CliPrograms } from './command.ts';
import { helpOf, namedCommand, topicOf } from './help.ts';

export type { CliIo, CliPrograms } from './command.ts';

/** @returns the exit code; see `EXIT` */
export async function runCli(argv: readonly string[], io: CliIo, programs: CliPrograms): Promise<number> {
  // Its words are an unfinished command line.
  if (argv[0] === '__complete') return (await import('./complete.ts')).complete(argv.slice(1), io, programs);
  try {
    if (argv.length === 0) return await showHere(io, programs);
    const { command, topic, args } = await namedCommand(withoutAlias(argv));
    if (command === undefined) return await nounWithoutVerb(topic, args, io);
    const { values, positionals } = parseArguments(command, args);
    if (values['help'] === true) {
      io.stdout.write(command.helpOf?.(positionals) ?? (await helpOf(topic)));
      return EXIT.ok;
    }
    await using parts = new AsyncDisposableStack();
    return await command.run({ io, programs, parts, values, positionals });
  } catch (error) {
    return explain(error, topicOf(argv), io);
  }
}

async function showHere(io: CliIo, programs: CliPrograms): Promise<number> {
  await using parts = new AsyncDisposableStack();
  const here = await import('./commands/here.ts');
  return await here.showHere({ io, programs, parts, values: {}, positionals: [] });
}

/** Lists the verbs. Without a request for help, the command line is incomplete. */
async function nounWithoutVerb(topic: readonly string[], [option]: readonly string[], io: CliIo): Promise<number> {
  const isHelp = option === '--help' || option === '-h';
  if (option !== undefined && !isHelp) throw new UsageError(`${topic[0]} needs a verb before ${option}`);
  (isHelp ? io.stdout : io.stderr).write(await helpOf(topic));
  return isHelp ? EXIT.ok : EXIT.usage;
}

/** Aliases that users of other programs expect. */
const ALIASES: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-V': 'version',
};

function withoutAlias([word = '', ...args]: readonly string[]): readonly string[] {
  const name = ALIASES[word] ?? word;
  if (name.startsWith('-')) throw new UsageError(`the first argument must be a command, not ${name}`);
  return [name, ...args];
}

/** @param topic words of the command line that name a command */
function explain(error: unknown, topic: readonly string[], io: CliIo): number {
  if (error instanceof UsageError) {
    const see = ownCommand(io.env, [])(['help', ...topic].join(' '));
    io.stderr.write(`opsd: ${redact(error.message)}\nSee: ${see}\n`);
    return EXIT.usage;
  }
  if (error instanceof ReportedError) return EXIT.failed;
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
