/** What a command is: data for the parser and for the help, and a function that ends with an exit code. */
import type { Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';

export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The world of a command. Data goes to stdout, all else to stderr. */
export interface CliIo {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Asks the person at the terminal for a line; absent where there is none. Rejects when the signal aborts. */
  readonly ask?: (question: string) => Promise<string>;
}

/** The long-running programs, which need the whole daemon. They resolve with the exit code. */
export interface CliPrograms {
  run(options: { readonly config: Config; /** Of its file. */ readonly path: string }): Promise<number>;
  demo(options: { readonly listen?: ListenAddress; readonly seed?: number }): Promise<number>;
}

export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** What stands for the value in the help: `FILE`. */
  readonly value?: string;
  readonly help: string;
  /** May be given several times. */
  readonly multiple?: true;
}

export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Call {
  readonly io: CliIo;
  readonly programs: CliPrograms;
  readonly values: OptionValues;
  readonly positionals: readonly string[];
}

export interface Command {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** What the positionals stand for: `POLICY…`; absent when there are none. */
  readonly operands?: { readonly usage: string; readonly min: number; readonly max: number };
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** More, for `opsd help COMMAND`. */
  readonly details?: string;
  readonly run: (call: Call) => Promise<number>;
}

/** 0 fine, 1 failed, 2 changes pending, 3 held, 4 stopped by a guard, 64 wrong usage. They stay. */
export const EXIT = { ok: 0, failed: 1, changes: 2, held: 3, aborted: 4, usage: 64 } as const;

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something failed that the user can do something about; the message says what. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export function textOption(values: OptionValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}
