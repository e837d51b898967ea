/** Common part of the outboxes: rows that are removed once they were delivered. */
import { all, type Database, type Work } from './database.ts';
import { accountsParameter, changeByLease, isOwn, leaseFor, withoutLease, type RowScope } from './scope.ts';

/** Write of an outbox as a part of a commit. Its rows count as queued from its creation. */
export interface OutboxWrite {
  /** Statements of the commit's transaction. */
  readonly work: Work<unknown>;
  /** Call it after the commit. */
  committed(): void;
  /** Call it if the commit failed. */
  failed(): void;
}

/** Rows of an outbox that this process works on, and the listeners for new ones. */
export class OutboxRows {
  readonly #database: Database;
  readonly #table: 'span_outbox' | 'delivery_lines';
  readonly #listeners = new Set<() => void>();
  /** Without the accounts whose lease was lost. */
  #scope: RowScope;

  constructor(database: Database, table: 'span_outbox' | 'delivery_lines', scope: RowScope) {
    this.#database = database;
    this.#table = table;
    this.#scope = scope;
  }

  /** Condition of the rows. `?1` gets `accounts`. */
  get own(): string {
    return isOwn(this.#database.dialect, this.#scope);
  }

  get accounts(): string {
    return accountsParameter(this.#scope);
  }

  onStored(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  stored(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Removes rows. Without replicas, this is one transaction. Otherwise it is one for each lease. */
  async settle<T>(ids: readonly number[], remove: (ids: readonly number[]) => Work<T>): Promise<readonly T[]> {
    const scope = this.#scope;
    const accounts = scope.accounts === undefined ? undefined : await this.#accountsOf(ids);
    const leaseOf = (id: number) => accounts && leaseFor(scope, accounts.get(id) ?? '');
    const { results, lost } = await changeByLease(this.#database, ids, leaseOf, remove);
    for (const { account } of lost) this.#scope = withoutLease(this.#scope, account);
    return results;
  }

  async #accountsOf(ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
    const select = `SELECT id, account FROM ${this.#table} WHERE id IN ${this.#database.dialect.numbers('?1')}`;
    const rows = await this.#database.read(all<{ id: number; account: string }>(select, JSON.stringify(ids)));
    return new Map(rows.map(({ id, account }) => [id, account]));
  }
}
