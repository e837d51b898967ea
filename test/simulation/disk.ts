/** Disk of the daemon: what is durable is in the files, and a process may end, or a commit may fail, at each commit. */
import type { DatabaseSync } from 'node:sqlite';
import { presentLoop, type Process } from './loop.ts';

/** Error of code that runs on although its process has ended. Nobody sees it. */
class Ended extends Error {}

/** SQLITE_FULL */
const FULL = 13;

/** Processes that have written an audit record in their present transaction. */
const told = new WeakSet<Process>();

/** Open databases of each process. */
const open = new WeakMap<Process, Set<DatabaseSync>>();

export function databasesOf(owner: Process): ReadonlySet<DatabaseSync> {
  return open.get(owner) ?? new Set();
}

export function opened(owner: Process, db: DatabaseSync): void {
  const all = open.get(owner) ?? new Set();
  open.set(owner, all.add(db));
}

export function closed(owner: Process, db: DatabaseSync): void {
  open.get(owner)?.delete(db);
}

/** Writes all or, before the process ends, a part of the bytes. @returns the number of written bytes */
export function writeOrFail(owner: Process, length: number, write: (count: number) => number): number {
  if (!owner.alive) throw new Ended('the process has ended');
  const { faults } = presentLoop();
  if (owner.crash === undefined) return write(length);
  told.add(owner);
  if (faults.strikes('audit write failed', 0.004)) {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  }
  if (faults.strikes('crash in an audit write', 0.004)) {
    write(faults.below(length));
    owner.crash('in an audit write');
    throw new Ended('the process has ended');
  }
  return write(length);
}

export function aroundCommit(owner: Process, commit: () => void): void {
  if (!owner.alive) throw new Ended('the process has ended');
  const loop = presentLoop();
  const { faults } = loop;
  loop.note(owner, 'commit');
  if (owner.crash === undefined) {
    commit();
    return;
  }
  // Rare among the commits: those that the audit log already tells of.
  const likelihood = told.delete(owner) ? 0.02 : 0.002;
  if (faults.strikes('commit failed', likelihood)) {
    loop.note(owner, 'commit failed');
    throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: FULL });
  }
  if (faults.strikes('crash before a commit', likelihood)) {
    owner.crash('before a commit');
    throw new Ended('the process has ended');
  }
  commit();
  if (faults.strikes('crash after a commit', 0.002)) {
    owner.crash('after a commit');
    throw new Ended('the process has ended');
  }
}
