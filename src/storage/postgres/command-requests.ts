/** Requester's side of commands: asks the owner of an account to run a command, and waits for the result. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Database, Work } from '../database.ts';
import type { CommandTable, Progress, Taker } from './command-table.ts';
import type { Notices } from './notices.ts';
import { CommitUnknownError } from './postgres-error.ts';
import { createKeyPair, open, seal } from './sealed.ts';

export interface StoredCommand {
  readonly account: string;
  readonly kind: string;
  /** Operator; empty for the daemon itself. */
  readonly by: string;
  /** JSON. */
  readonly arguments: unknown;
}

/** `taken: false`: the command was not run, and never will be. */
export type Sent = { readonly taken: true; readonly result: unknown } | { readonly taken: false; readonly why: string };

/** The owner took the command, and its outcome cannot be found out. */
export class CommandUnknownError extends Error {
  override readonly name = 'CommandUnknownError';
}

export interface CommandDeps {
  readonly database: Database;
  readonly table: CommandTable;
  readonly notices: Pick<Notices, 'listen'>;
  readonly clock: Clock;
}

/** Time between two looks at a command, of both sides, if no notices arrive. */
export const LOOK_EVERY_MS = 5_000;
/** Time that a look gives to a taken command. The owner aborts the command of a requester that has died. */
const CONTINUE_MS = 30_000;
/** Pause after a failure to withdraw a command. */
const RETRY_MS = 1_000;
/** Time for the result of a command whose owner has lost the account. */
const LATE_MS = 5_000;
/** Time without the store after which the outcome counts as unknown. */
const STORE_LOST_MS = 60_000;
/** Time during which a command without a result can be taken. */
const POSTED_MS = 600_000;

export class CommandRequests {
  readonly #deps: CommandDeps;
  readonly #key = createKeyPair();

  constructor(deps: CommandDeps) {
    this.#deps = deps;
  }

  /**
   * Asks the owner to run a command.
   *
   * @param signal withdraws the command, or aborts it at the owner if that has taken it
   * @param takenWithinMs time after which the command is withdrawn if the owner has not taken it
   * @throws {CommandUnknownError} if the owner died after it had taken the command
   */
  async send(command: StoredCommand, signal: AbortSignal, takenWithinMs: number): Promise<Sent> {
    const { database, table, notices, clock } = this.#deps;
    const { account, arguments: given, ...rest } = command;
    signal.throwIfAborted();
    const taker = await database.read(table.taker(account));
    if (taker?.key === undefined) return { taken: false, why: noTaker(account, taker) };
    const id = randomUUID();
    const { epoch, key } = taker;
    const sealed = seal(JSON.stringify(given), key, `${id} arguments`);
    const until = clock.monotonic() + takenWithinMs;
    using changes = changesOf(id, { notices, clock }, signal);
    try {
      await database.transaction(
        table.insert({
          ...rest,
          id,
          account,
          epoch,
          arguments: sealed,
          replyKey: this.#key.publicKey,
          // The requester withdraws it earlier.
          forMs: 2 * Math.ceil(takenWithinMs),
        }),
      );
    } catch (error) {
      // If the command was stored, it is found below.
      if (!(error instanceof CommitUnknownError)) throw error;
    }
    return await this.#follow({ id, command, taker, until, signal, changes });
  }

  /** Leaves a command for the present or next owner, without a result. Its arguments are readable in the store. */
  async post({ arguments: given, ...rest }: StoredCommand): Promise<void> {
    const { database, table } = this.#deps;
    const body = Buffer.from(JSON.stringify(given));
    await database.transaction(table.insert({ ...rest, id: randomUUID(), arguments: body, forMs: POSTED_MS }));
  }

  async #follow(asked: Following): Promise<Sent> {
    const { database, table, clock } = this.#deps;
    const { id, signal, changes, until, taker, command } = asked;
    /** Monotonic times since when the store is unavailable, and since when the owner of the command is gone. */
    let failing: number | undefined;
    let gone: number | undefined;
    for (;;) {
      let progress: Progress | undefined;
      try {
        progress = await database.transaction(table.follow(id, CONTINUE_MS));
        failing = undefined;
      } catch (error) {
        signal.throwIfAborted();
        failing ??= clock.monotonic();
        if (clock.monotonic() - failing >= STORE_LOST_MS) throw unknown(asked, errorMessage(error));
        await changes.next(LOOK_EVERY_MS);
        continue;
      }
      const now = clock.monotonic();
      if (progress === undefined) {
        signal.throwIfAborted();
        return { taken: false, why: `replica ${taker.replica} did not take it` };
      }
      const { state, isOwned, result } = progress;
      if (state === 'done') return { taken: true, result: await this.#read(asked, result) };
      if (state === 'waiting' && (signal.aborted || now >= until || isOwned === 0)) {
        // The next look finds out whether it is withdrawn.
        if (!(await this.#isDone(table.withdraw(id)))) await changes.next(RETRY_MS);
        continue;
      }
      if (state === 'taken' && signal.aborted) {
        await this.#isDone(table.abandon(id));
        signal.throwIfAborted();
      }
      gone = isOwned === 1 ? undefined : (gone ?? now);
      const end = endOf(state, until, gone);
      if (state === 'taken' && now >= end) {
        throw unknown(asked, `it lost account ${command.account} before it reported the result`);
      }
      await changes.next(Math.min(LOOK_EVERY_MS, end - now));
    }
  }

  async #read(asked: Following, result: Uint8Array | undefined): Promise<unknown> {
    const { table } = this.#deps;
    const { id } = asked;
    if (result === undefined) throw unknown(asked, 'its result is not in the store');
    const text = open(result, this.#key, `${id} result`);
    await this.#isDone(table.forget(id));
    return JSON.parse(text) as unknown;
  }

  /** Makes a change whose failure the next look finds, or that does not matter. Returns false if it failed. */
  async #isDone(work: Work<unknown>): Promise<boolean> {
    return this.#deps.database.transaction(work).then(
      () => true,
      () => false,
    );
  }
}

interface Following {
  readonly id: string;
  readonly command: StoredCommand;
  readonly taker: Taker;
  /** Monotonic time. */
  readonly until: number;
  readonly signal: AbortSignal;
  readonly changes: Changes;
}

/** Monotonic time until which a command can be taken, or its result can arrive. @param gone when its owner was lost */
function endOf(state: Progress['state'], until: number, gone = Infinity): number {
  return state === 'waiting' ? until : gone + LATE_MS;
}

function noTaker(account: string, taker: Taker | undefined): string {
  if (taker === undefined) return `no replica owns account ${account} at this time`;
  return `replica ${taker.replica}, which owns account ${account}, does not take commands yet`;
}

function unknown({ command: { account, kind }, taker }: Following, why: string): CommandUnknownError {
  const message = `replica ${taker.replica} took the command ${kind}, and its outcome is unknown: ${why}`;
  return new CommandUnknownError(`${message}. See \`opsd audit --account ${account}\``);
}

interface Changes extends Disposable {
  /** Waits for a notice about the command, for an abort, or for `ms`. */
  next(ms: number): Promise<void>;
}

function changesOf(
  id: string,
  { notices, clock }: Pick<CommandDeps, 'notices' | 'clock'>,
  signal: AbortSignal,
): Changes {
  let changed = Promise.withResolvers<void>();
  const ring = (): void => changed.resolve();
  const heard = notices.listen((notice) => {
    if (notice === undefined || notice.key === id) ring();
  });
  signal.addEventListener('abort', ring);
  return {
    async next(ms) {
      using _timer = clock.after(ms, ring);
      await changed.promise;
      changed = Promise.withResolvers();
    },
    [Symbol.dispose]() {
      heard[Symbol.dispose]();
      signal.removeEventListener('abort', ring);
    },
  };
}
