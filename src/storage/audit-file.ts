/** Audit log as a file beside the store. The lock of the store ensures a single writer. */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { dirname } from 'node:path';
import { sealRecord } from '#automate/ledger/audit-chain.ts';
import type { AuditEntry, AuditHead, AuditLog, AuditOpening } from '#automate/ledger/audit-log.ts';
import { auditPathOf, readAudit, segmentPathOf, verifyAudit } from '#automate/ledger/audit-reader.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import { searchAudit } from '#automate/ledger/audit-search.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { readHead } from './audit-head.ts';
import { compare } from './audit-opening.ts';
import { readLogTail } from './audit-tail.ts';
import type { Store } from './sqlite.ts';
import { sync } from './store-files.ts';

export type AuditFile = AuditLog & Disposable;

/**
 * Opens the audit log. Never throws: without an audit log, the daemon continues to observe and does not act.
 *
 * @param maxBytes maximum size of the file; then it becomes a segment, and a new file continues the chain
 */
export function openAuditLog(store: Store, clock: Clock, maxBytes = Infinity): AuditFile {
  const path = auditPathOf(store.path);
  try {
    return openFile(path, { store, clock, maxBytes });
  } catch (error) {
    const problem = `the audit log is unusable: ${errorMessage(error)}; fix this and restart the daemon`;
    return {
      problem,
      opening: { notes: [] },
      append: () => {
        throw new Error(problem, { cause: error });
      },
      head: () => undefined,
      verify: () => verifyAudit(path),
      [Symbol.dispose]: () => undefined,
    };
  }
}

interface AuditFileDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly maxBytes: number;
}

function openFile(path: string, { store, clock, maxBytes }: AuditFileDeps): AuditFile {
  let fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  let opening: AuditOpening;
  let head: AuditHead | undefined;
  /** Position of the next record. Bytes beyond it were never committed. */
  let size: number;
  try {
    // A new file is durable once its folder is.
    sync(dirname(path));
    const known = readHead(store.db);
    const tail = readLogTail(fd, path);
    ({ opening, after: head, keep: size } = compare(tail, known));
    // An incomplete line that stays must not run into the next one.
    if (size === tail.size && tail.tornBytes > 0) size += writeSync(fd, '\n', size);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const { instance, epoch } = store;
  let inode = fstatSync(fd).ino;
  let isOpen = true;
  let isFolderSynced = true;

  /** Starts a new file. If that fails, the current file keeps growing. */
  function rotate(last: number): void {
    const [segment, next] = [segmentPathOf(path, last), `${path}.next`];
    if (existsSync(segment)) return;
    let fresh: number | undefined;
    try {
      fresh = openSync(next, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC, 0o600);
      renameSync(path, segment);
      renameSync(next, path);
    } catch {
      if (fresh !== undefined) closeSync(fresh);
      if (!existsSync(path) && existsSync(segment)) renameSync(segment, path);
      return;
    }
    closeSync(fd);
    fd = fresh;
    inode = fstatSync(fd).ino;
    size = 0;
    isFolderSynced = false;
  }

  function append(entry: AuditEntry): AuditHead {
    // The descriptor of a closed file may already belong to another file.
    if (!isOpen) throw new Error('the audit log is closed because the daemon is stopping');
    // Records written to a moved file would be lost with it.
    if (statSync(path, { throwIfNoEntry: false })?.ino !== inode) {
      throw new Error(`${path} was moved or removed while the daemon is running: put it back, or restart the daemon`);
    }
    const time = new Date(clock.now()).toISOString();
    const sealed = sealRecord(entry, { time, store: instance, opening: epoch, after: head });
    // Removes the rest of a failed append.
    if (fstatSync(fd).size > size) ftruncateSync(fd, size);
    if (size >= maxBytes && head !== undefined) rotate(head.sequence);
    // A record could be lost if the name of its file is not durable.
    if (!isFolderSynced) sync(dirname(path));
    isFolderSynced = true;
    const bytes = Buffer.from(`${sealed.line}\n`);
    for (let written = 0; written < bytes.length;) {
      written += writeSync(fd, bytes, written, bytes.length - written, size + written);
    }
    fdatasyncSync(fd);
    size += bytes.length;
    head = sealed.head;
    return head;
  }

  return {
    problem: undefined,
    opening,
    append,
    head: () => head,
    verify: () => verifyAudit(path, { known: readHead(store.db) }),
    [Symbol.dispose]() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/** Audit log in its files, as its readers see it. */
export function auditFiles(path: string, head: AuditReader['head']): AuditReader {
  return {
    place: path,
    head,
    records: () => readAudit(path),
    search: (query, signal) => searchAudit(path, query, signal),
    verify: (seen) => verifyAudit(path, seen),
  };
}
