/** Head of the audit log as stored in the database, written in the same transaction as the recorded change. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditHead } from '#automate/ledger/audit-log.ts';

const KEY = 'audit_head';

export function readHead(db: DatabaseSync): AuditHead | undefined {
  const value = db.prepare('SELECT value FROM meta WHERE key = ?').get(KEY)?.['value'];
  const [sequence, hash] = String(value ?? '').split(':');
  return hash === undefined ? undefined : { sequence: Number(sequence), hash };
}

/** @returns a function that saves a head, within the caller's transaction */
export function headWriter(db: DatabaseSync): (head: AuditHead) => void {
  const put = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  return ({ sequence, hash }) => void put.run(KEY, `${sequence}:${hash}`);
}
