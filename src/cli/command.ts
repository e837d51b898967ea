/** Type of a command: data for the parser and for the help, and a function that returns an exit code. */
import { readFileSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';

export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** Environment of a command. Data goes to stdout, everything else to stderr. */
export interface CliIo {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Asks the user at the terminal for a line; absent without a terminal. Rejects when the signal aborts. */
  readonly ask?: (question: string) => Promise<string>;
  /** Same as `ask`, without showing what is typed. */
  readonly askSecret?: (question: string) => Promise<string>;
  /** Reads stdin to its end, as text. */
  readonly readInput: () => Promise<string>;
}

/** Parts of a daemon that a command needs if none runs. */
export interface DirectNeeds {
  /** True if the command changes something. Its audit log is then in the configured store. */
  readonly writes: boolean;
  /** Collectors whose readings the command shows. */
  readonly collectors: readonly CollectorName[];
}

/** Daemon of one command, in its own process. */
export interface DirectDaemon extends AsyncDisposable {
  readonly socketPath: string;
}

/** Programs that need the whole daemon. `run` and `demo` resolve with the exit code. */
export interface CliPrograms {
  run(options: { readonly config: Config; /** Path of its file. */ readonly path: string }): Promise<number>;
  demo(options: { readonly listen?: ListenAddress; readonly seed?: number }): Promise<number>;
  /** Starts a daemon for one command. Its first readings are complete on return. */
  direct(options: DirectNeeds & { readonly config: Config }): Promise<DirectDaemon>;
}

/** Names that the daemon knows, for completion. */
export type NameSource = 'account' | 'policy' | 'plan' | 'incident' | 'flow-control-key';

export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Placeholder of the value in the help: `FILE`. */
  readonly value?: string;
  readonly help: string;
  /** The option may be repeated. */
  readonly multiple?: true;
  /** Values for completion. */
  readonly names?: NameSource;
}

/** Option with a value. @param value its placeholder */
export function valueOption(
  value: string,
  help: string,
  more: Pick<OptionSpec, 'short' | 'multiple' | 'names'> = {},
): OptionSpec {
  return { type: 'string', value, help, ...more };
}

export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Call {
  readonly io: CliIo;
  readonly programs: CliPrograms;
  /** Parts that end after the command. */
  readonly parts: AsyncDisposableStack;
  readonly values: OptionValues;
  readonly positionals: readonly string[];
}

export interface Command {
  /** One word, or a noun and a verb: `dlq list`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** Positional arguments: `POLICY…`; absent if there are none. */
  readonly operands?: {
    readonly usage: string;
    readonly min: number;
    readonly max: number;
    /** Values for completion. */
    readonly names?: NameSource | readonly string[];
  };
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Additional text for `opsd help COMMAND`. */
  readonly details?: string;
  /** Help for these positional arguments; undefined for the help of the command. */
  readonly helpOf?: (positionals: readonly string[]) => string | undefined;
  /** Complete command lines, as a user types them. */
  readonly examples: readonly [string, string, ...string[]];
  readonly run: (call: Call) => Promise<number>;
}

/** Exit codes. They are stable. `npm run docs` writes the comments into `docs/commands.md`. */
export const EXIT = {
  /** Success. Of `status` and `doctor`: all is well; of `plan`: nothing to do; of `apply`: it acted. */
  ok: 0,
  /** No daemon responds, the request is rejected, or it was not confirmed. */
  failed: 1,
  /** `plan` has changes. For several policies, `plan` exits with the highest code. */
  changes: 2,
  /** A guard holds the plan, and `apply` changed nothing. Of `unpause`: it is still paused. */
  held: 3,
  /**
   * Findings of `status`, `doctor` and `audit verify`. Of `incidents` and `dlq list`: the daemon has not read a queue yet,
   * so an empty list does not mean that there are none.
   */
  findings: 3,
  /** A guard aborted or halted the plan. */
  aborted: 4,
  /** `apply` found nothing left to do, and changed nothing. */
  nothing: 5,
  /** Wrong command line; nothing was sent. */
  usage: 64,
} as const;

/** Error in the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Failure that the user can fix; the message says how. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Failure whose reason is on stderr already. */
export class ReportedError extends Error {}

export function textOption(values: OptionValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** Reads a file that a command line names. */
export function readWhole(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, {
      cause: error,
    });
  }
}

/** Reads the body of a message from a file, or from stdin for `-`. */
export async function bytesOf({ io }: Call, file: string): Promise<Buffer> {
  return file === '-' ? Buffer.from(await io.readInput()) : readWhole(file);
}
