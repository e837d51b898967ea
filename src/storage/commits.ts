/** Commits of the accounts: those of an account are made one after the other, and some of them wait for another one. */
import { OWN, type Increment, type TotalsAdded } from '#observe/aggregation/totals.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { workOf, type Database, type Job, type Work } from './database.ts';
import { CommitUnknownError } from './store-error.ts';

/** Change of an account: what it adds to the totals, and what else its transaction has. */
export interface AccountChange extends Partial<Omit<TotalsAdded, 'account'>> {
  readonly work?: Job<unknown>;
  /** Called after the commit, before the account's next change. */
  readonly committed?: () => void;
  /**
   * True for a change to commit with the next one of the account that cannot wait, or with `settled`. Its work may then
   * run again. A later one that can wait replaces its work.
   */
  readonly canWait?: boolean;
}

interface CommitsDeps {
  readonly database: Pick<Database, 'transaction'>;
  /** Adds to the totals, within the transaction. */
  readonly add: (added: TotalsAdded) => Work<void>;
  /** Called after each commit that adds to the totals. */
  readonly onAdded: (added: TotalsAdded) => void;
  /** Called with the error of a commit, before it is thrown. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each commit. */
  readonly onSaved: () => void;
}

/** Maximum number of accounts in one transaction: all of them wait for its end. */
const MOST_TOGETHER = 50;

export class Commits {
  readonly #deps: CommitsDeps;
  readonly #turns = new Map<string, OneByOne>();
  /** Changes that wait for the next one of their account. */
  readonly #waiting = new Map<string, { readonly increments: readonly Increment[]; readonly work?: Job<unknown> }>();

  constructor(deps: CommitsDeps) {
    this.#deps = deps;
  }

  /** Runs work after the account's earlier changes, and before its later ones. */
  inTurn<T>(account: string, work: () => Promise<T>): Promise<T> {
    return getOrAdd(this.#turns, account, () => new OneByOne()).run(work);
  }

  /**
   * Decides on a change of an account and commits it, after the account's earlier changes. Rejects if the write fails;
   * nothing is written then.
   *
   * @param decide called once the earlier changes are committed; undefined: there is nothing to change
   * @returns true if there was something to change
   */
  commit(account: string, decide: () => AccountChange | undefined): Promise<boolean> {
    return this.inTurn(account, async () => {
      const change = decide();
      if (change !== undefined) await this.#commitNow(account, change);
      return change !== undefined;
    });
  }

  /**
   * Commits a change of each account, after its earlier changes. Accounts without a change in progress share
   * transactions. Never rejects; failures are reported.
   */
  async commitTogether(changes: ReadonlyMap<string, AccountChange>): Promise<void> {
    const all = [...changes];
    const alone: Promise<unknown>[] = [];
    for (let from = 0; from < all.length; from += MOST_TOGETHER) {
      const free = new Map<string, AccountChange>();
      for (const [account, change] of all.slice(from, from + MOST_TOGETHER)) {
        if (this.#turns.get(account)?.isFree ?? true) free.set(account, change);
        else alone.push(this.commit(account, () => change).catch(() => undefined));
      }
      if (free.size > 0) await this.#commitFree(free);
    }
    await Promise.all(alone);
  }

  /** Resolves when all changes requested so far are committed or have failed, also those that can wait. */
  async settled(): Promise<void> {
    // A failure was reported. The next process needs none of the changes that can wait.
    await Promise.allSettled([...this.#waiting.keys()].map((account) => this.commit(account, () => ({}))));
    await Promise.all([...this.#turns.values()].map((ofAccount) => ofAccount.idle()));
  }

  async #commitNow(account: string, change: AccountChange): Promise<void> {
    if (change.canWait === true) return this.#keepWaiting(account, change);
    try {
      await this.#write(new Map([[account, change]]));
    } catch (error) {
      this.#deps.onFailure(error);
      throw error;
    }
  }

  #keepWaiting(account: string, change: AccountChange): void {
    const { increments } = this.#addedBy(account, change);
    this.#waiting.set(account, { increments, work: change.work ?? this.#waiting.get(account)?.work });
    change.committed?.();
  }

  /** Commits changes of free accounts in one transaction, and alone if it failed: the reason may be one account. */
  async #commitFree(changes: ReadonlyMap<string, AccountChange>): Promise<void> {
    const written = this.#write(changes).catch((error: unknown) => error);
    const commitAlone = async (account: string, change: AccountChange): Promise<void> => {
      const failure = await written;
      // After a commit with an unknown outcome, a second one could count twice.
      if (failure === undefined || failure instanceof CommitUnknownError) return;
      await this.#commitNow(account, change);
    };
    // The turns are taken at once, and end with the transaction.
    await Promise.allSettled(
      [...changes].map(([account, change]) => this.inTurn(account, () => commitAlone(account, change))),
    );
    const failure = await written;
    if (failure instanceof CommitUnknownError) this.#deps.onFailure(failure);
  }

  /** Commits changes of accounts whose turn it is, with what waits. */
  async #write(changes: ReadonlyMap<string, AccountChange>): Promise<void> {
    const { database, add, onAdded, onSaved } = this.#deps;
    const all = [...changes].map(([account, change]) => ({
      change,
      added: this.#addedBy(account, change),
      works: [this.#waiting.get(account)?.work, change.work].filter((work) => work !== undefined),
    }));
    await database.transaction(
      function* () {
        for (const { added, works } of all) {
          for (const work of works) yield* workOf(work);
          yield* add(added);
        }
      },
      [...changes.keys()].filter((account) => account !== OWN),
    );
    onSaved();
    for (const { change, added } of all) {
      this.#waiting.delete(added.account);
      change.committed?.();
      if (added.increments.length > 0 || added.histograms.length > 0) onAdded(added);
    }
  }

  #addedBy(account: string, { increments = [], histograms = [] }: AccountChange): TotalsAdded {
    return { account, increments: [...(this.#waiting.get(account)?.increments ?? []), ...increments], histograms };
  }
}
