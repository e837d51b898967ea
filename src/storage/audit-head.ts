/** The head of the audit log as the store knows it: written in the transaction that the record tells of. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditHead } from '#automate/ledger/audit-log.ts';

const KEY = 'audit_head';

export function readHead(db: DatabaseSync): AuditHead | undefined {
  const value = db.prepare('SELECT value FROM meta WHERE key = ?').get(KEY)?.['value'];
  const [sequence, hash] = String(value ?? '').split(':');
  return hash === undefined ? undefined : { sequence: Number(sequence), hash };
}

/** @returns what saves a head, within the caller's transaction */
export function headWriter(db: DatabaseSync): (head: AuditHead) => void {
  const put = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  return ({ sequence, hash }) => void put.run(KEY, `${sequence}:${hash}`);
}
