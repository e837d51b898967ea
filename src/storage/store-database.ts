import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { isDamage, StoreError } from './store-error.ts';

interface FileId {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/**
 * Connection of the daemon to its store. It remembers damage that any statement finds. It writes nothing more once the
 * file is damaged or was moved.
 */
export class StoreDatabase extends DatabaseSync {
  #damage: string | undefined;
  #files: readonly FileId[] = [];

  /** Reason why the store must not be used; undefined if it can be used. Damage stays until the next start. */
  get problem(): string | undefined {
    if (this.#damage !== undefined) return this.#damage;
    const lost = this.#files.find(({ path, dev, ino }) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found?.ino !== ino || found.dev !== dev;
    });
    return (
      lost &&
      `${lost.path} was moved, removed or replaced while the daemon is running: put it back, or restart the daemon`
    );
  }

  /** Starts to verify that the files stay in place. */
  watchFiles(path: string): void {
    this.#files = [path, `${path}-wal`].flatMap((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? [] : [{ path: file, dev: found.dev, ino: found.ino }];
    });
  }

  override exec(sql: string): void {
    if (sql.startsWith('BEGIN')) this.#assertUsable();
    this.#watched(() => super.exec(sql));
  }

  /** Prepares the statement at its first use: most are not used before the first scrape, and some never. */
  override prepare(sql: string): StatementSync {
    let prepared: StatementSync | undefined;
    const use = <T>(run: (statement: StatementSync) => T): T =>
      this.#watched(() => run((prepared ??= super.prepare(sql))));
    return {
      run: (...values: SQLInputValue[]) => {
        if (!this.isTransaction) this.#assertUsable();
        return use((statement) => statement.run(...values));
      },
      get: (...values: SQLInputValue[]) => use((statement) => statement.get(...values)),
      all: (...values: SQLInputValue[]) => use((statement) => statement.all(...values)),
      iterate: (...values: SQLInputValue[]) => {
        const rows = use((statement) => statement.iterate(...values));
        const next = rows.next.bind(rows);
        return Object.assign(rows, { next: () => this.#watched(next) });
      },
    } as StatementSync;
  }

  #assertUsable(): void {
    const { problem } = this;
    if (problem !== undefined) throw new StoreError(problem);
  }

  #watched<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isDamage(error))
        this.#damage ??= `damage of the store was found while the daemon is running: ${errorMessage(error)}`;
      throw error;
    }
  }
}
