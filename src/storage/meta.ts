/** Facts about the store as a whole, by key. */
import { randomBytes } from 'node:crypto';
import { get, run, type Work } from './database.ts';

/** Identity of a store, and of the process that has opened it. */
export interface Opened {
  /** Identity of the store, created with it. */
  readonly instance: string;
  /** Number of processes that have opened the store, with this one. */
  readonly epoch: number;
  /** True if the store existed before this process. */
  readonly restored: boolean;
}

export function* metaValue(key: string): Work<string | undefined> {
  return (yield* get<{ readonly value: string }>('SELECT value FROM meta WHERE key = ?', key))?.value;
}

/** Adds a fact, unless the store has one of this key. @returns the number of added ones */
export function addMeta(key: string, value: string): Work<number> {
  return run('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING', key, value);
}

export function putMeta(key: string, value: string): Work<number> {
  const put = 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
  return run(put, key, value);
}

export function removeMeta(key: string): Work<number> {
  return run('DELETE FROM meta WHERE key = ?', key);
}

/** Opens a store as one process, within a transaction. */
export function* openedBy(): Work<Opened> {
  const known = yield* metaValue('instance');
  const instance = known ?? randomBytes(5).toString('hex');
  if (known === undefined) yield* addMeta('instance', instance);
  return { instance, epoch: yield* nextEpoch(), restored: known !== undefined };
}

/**
 * Increments the epoch durably at each opening. If two processes both believe to own the store, the older one finds a
 * newer epoch.
 */
export function* nextEpoch(): Work<number> {
  const epoch = Number((yield* metaValue('epoch')) ?? 0) + 1;
  yield* putMeta('epoch', String(epoch));
  return epoch;
}
