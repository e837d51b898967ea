/** `node:sqlite` whose commits may fail, and at which the process may end. */
import { DatabaseSync as Real, type DatabaseSyncOptions } from 'node:sqlite';
import { currentProcess, type Process } from '../loop.ts';
import { aroundCommit, closed, opened } from '../disk.ts';

export * from 'node:sqlite';

export class DatabaseSync extends Real {
  readonly #owner: Process = currentProcess();

  constructor(path: string, options: DatabaseSyncOptions = {}) {
    // Another process would wait for a lock in real time.
    super(path, { ...options, timeout: 0 });
    opened(this.#owner, this);
  }

  override exec(sql: string): void {
    if (sql === 'COMMIT') aroundCommit(this.#owner, () => super.exec(sql));
    else super.exec(sql);
  }

  override close(): void {
    closed(this.#owner, this);
    super.close();
  }
}
