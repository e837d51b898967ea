/** Environment of commands under test: their output is recorded, and the environment of this machine is hidden. */
import { parseArguments } from '#cli/arguments.ts';
import type { CliIo, CliPrograms, Command } from '#cli/command.ts';
import { runCli } from '#cli/cli.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Terminal {
  readonly io: CliIo;
  readonly programs: CliPrograms;
  /** Arguments of the started programs. */
  readonly started: unknown[];
  readonly stdout: string;
  readonly stderr: string;
  /** Stops the command, as Ctrl-C does. */
  stop(): void;
}

export interface TerminalOptions {
  /** Answers of the user, in order; absent without a terminal. */
  readonly answers?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Contents of stdin. */
  readonly input?: string;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Default: a stopped clock. */
  readonly clock?: Clock;
  readonly rows?: number;
}

export function terminal(options: TerminalOptions = {}): Terminal {
  const written = { stdout: '', stderr: '' };
  const stop = new AbortController();
  const started: unknown[] = [];
  const answers = [...(options.answers ?? [])];
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => void (written[name] += text),
    isTTY: options.isTTY ?? false,
    columns: options.columns ?? 80,
    ...(options.rows !== undefined && { rows: options.rows }),
  });
  const io: CliIo = {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: options.env ?? {},
    signal: stop.signal,
    ...(options.answers !== undefined && {
      ask: (question: string) => ((written.stderr += question), Promise.resolve(answers.shift() ?? '')),
      askSecret: (question: string) => ((written.stderr += question), Promise.resolve(answers.shift() ?? '')),
    }),
    readInput: () => Promise.resolve(options.input ?? ''),
    clock: options.clock ?? new ManualClock(Date.UTC(2026, 10, 18, 10, 30, 0)),
  };
  return {
    io,
    programs: {
      run: (given) => Promise.resolve((started.push(given), 0)),
      demo: (given) => Promise.resolve((started.push(given), 0)),
      async direct(given) {
        const [{ startDirect }, { startApp }] = await Promise.all([import('#app/direct.ts'), import('#app/daemon.ts')]);
        started.push(given);
        return startDirect(given, io, startApp);
      },
    },
    started,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    stop: () => stop.abort(new Error('stopped by SIGINT')),
  };
}

/** Runs one command from start to end. */
export async function opsd(argv: readonly string[], options: TerminalOptions = {}): Promise<Outcome> {
  const world = terminal(options);
  const code = await runCli(argv, world.io, world.programs);
  return { code, stdout: world.stdout, stderr: world.stderr };
}

/** Runs a command of the test on a terminal, without the table of commands. */
export async function runCommand(command: Command, args: readonly string[], world: Terminal): Promise<number> {
  await using parts = new AsyncDisposableStack();
  return await command.run({ io: world.io, programs: world.programs, parts, ...parseArguments(command, args) });
}
