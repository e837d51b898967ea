/** Head of the audit log as stored in the database, written in the same transaction as the recorded change. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import { run, type Work } from './database.ts';

const KEY = 'audit_head';

export function readHead(db: DatabaseSync): AuditHead | undefined {
  const value = db.prepare('SELECT value FROM meta WHERE key = ?').get(KEY)?.['value'];
  const [sequence, hash] = String(value ?? '').split(':');
  return hash === undefined ? undefined : { sequence: Number(sequence), hash };
}

const PUT = `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

export function* saveHead({ sequence, hash }: AuditHead): Work<void> {
  yield* run(PUT, KEY, `${sequence}:${hash}`);
}
