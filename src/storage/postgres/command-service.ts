/**
 * Owner's side of commands: takes the commands for its accounts, runs each once, and stores the result. A command is
 * taken in a transaction that the lease of the account fences, so a replica that lost the account takes none.
 */
import type { Timer } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { TakenCommand } from './command-table.ts';
import { LOOK_EVERY_MS, type StoredCommand, type CommandDeps } from './command-requests.ts';
import { LeaseLostError } from './postgres-error.ts';
import { createKeyPair, open, seal } from './sealed.ts';

export interface CommandServiceDeps extends CommandDeps {
  /** Returns the accounts that this replica owns, with the epochs of its leases. */
  readonly owned: () => ReadonlyMap<string, number>;
  /**
   * Runs a command, and returns its result as JSON. Never rejects.
   *
   * @param signal aborted if the requester does not wait for the result any more
   */
  readonly handle: (command: StoredCommand, signal: AbortSignal) => Promise<unknown>;
  readonly onFailed: (message: string) => void;
}

interface Running {
  readonly controller: AbortController;
  /** Result that is not in the store yet; `sealed` is undefined if no requester waits for it. */
  ended: { readonly sealed: Uint8Array | undefined } | undefined;
  work: Promise<void>;
}

export class CommandService implements AsyncDisposable {
  readonly #deps: CommandServiceDeps;
  readonly #key = createKeyPair();
  readonly #heard: Disposable;
  /** Epochs whose key is in the store, by account. */
  readonly #published = new Map<string, number>();
  /** Commands that this process has taken, until their result is in the store. */
  readonly #running = new Map<string, Running>();
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #isAsked = false;
  #isStopped = false;

  constructor(deps: CommandServiceDeps) {
    this.#deps = deps;
    this.#heard = deps.notices.listen((notice) => {
      const isMeant =
        notice === undefined ||
        (notice.topic === 'commands' && deps.owned().has(notice.key)) ||
        (notice.topic === 'command' && this.#isInProgress(notice.key));
      if (isMeant) void this.look();
    });
  }

  /** Takes waiting commands now, and looks again periodically. */
  look(): Promise<void> {
    this.#isAsked = true;
    this.#looking ??= this.#lookUntilDone().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Takes no more commands, aborts those in progress, and waits for their results. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#heard[Symbol.dispose]();
    this.#timer?.cancel();
    await this.#looking;
    for (const { controller } of this.#running.values()) controller.abort(new Error('the replica is stopping'));
    await Promise.all([...this.#running.values()].map(({ work }) => work));
  }

  async #lookUntilDone(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      try {
        await this.#look();
      } catch (error) {
        this.#deps.onFailed(errorMessage(error));
      }
    }
    this.#timer?.cancel();
    if (!this.#isStopped) this.#timer = this.#deps.clock.after(LOOK_EVERY_MS, () => void this.look());
  }

  async #look(): Promise<void> {
    const { database, table, owned } = this.#deps;
    const mine = owned();
    await this.#publish(mine);
    for (const id of this.#running.keys()) await this.#finish(id);
    if (mine.size === 0) return;
    const waiting = new Set<string>();
    for (const { id, account, state, epoch, isExpired } of await database.read(table.open([...mine.keys()]))) {
      const running = this.#running.get(id);
      if (state === 'waiting' && isExpired === 0) waiting.add(account);
      if (state === 'taken' && isExpired === 1) running?.controller.abort(new Error('the requester disconnected'));
      // The response to the commit that took it was lost, so it was not run.
      if (state === 'taken' && running === undefined && epoch !== null && epoch === mine.get(account)) {
        await database.transaction(table.discard(id, epoch));
      }
    }
    for (const account of waiting) await this.#take(account, mine.get(account)!);
  }

  #isInProgress(id: string): boolean {
    const running = this.#running.get(id);
    return running !== undefined && running.ended === undefined;
  }

  async #publish(owned: ReadonlyMap<string, number>): Promise<void> {
    const { database, table } = this.#deps;
    const added = [...owned]
      .filter(([account, epoch]) => this.#published.get(account) !== epoch)
      .map(([account, epoch]) => ({ account, epoch }));
    if (added.length === 0) return;
    await database.transaction(table.publish(added, this.#key.publicKey));
    for (const { account, epoch } of added) this.#published.set(account, epoch);
  }

  async #take(account: string, epoch: number): Promise<void> {
    const { database, table } = this.#deps;
    let taken: readonly TakenCommand[];
    try {
      taken = await database.transaction(table.take(account, epoch), account);
    } catch (error) {
      if (error instanceof LeaseLostError) return;
      throw error;
    }
    for (const command of taken) {
      const running: Running = { controller: new AbortController(), ended: undefined, work: Promise.resolve() };
      this.#running.set(command.id, running);
      running.work = this.#run(command, account, running);
    }
  }

  async #run(command: TakenCommand, account: string, running: Running): Promise<void> {
    const { id, kind, by, epoch, arguments: given, replyKey } = command;
    let text: string;
    try {
      text = epoch !== undefined ? open(given, this.#key, `${id} arguments`) : Buffer.from(given).toString('utf8');
    } catch (error) {
      // It was not run: the next look discards it.
      this.#running.delete(id);
      return this.#deps.onFailed(errorMessage(error));
    }
    const asked = { account, kind, by, arguments: JSON.parse(text) as unknown };
    const result = await this.#deps.handle(asked, running.controller.signal);
    running.ended = { sealed: replyKey && seal(JSON.stringify(result), replyKey, `${id} result`) };
    // After a failure, the next look stores it.
    await this.#finish(id).catch((error: unknown) => this.#deps.onFailed(errorMessage(error)));
  }

  /** Stores the result of a command that has ended. */
  async #finish(id: string): Promise<void> {
    const { database, table } = this.#deps;
    const { ended } = this.#running.get(id) ?? {};
    if (ended === undefined) return;
    await database.transaction(table.finish(id, ended.sealed));
    this.#running.delete(id);
  }
}
