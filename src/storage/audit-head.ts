/** Head of the audit log as stored in the database, written in the same transaction as the recorded change. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { Work } from './database.ts';
import { metaValue, putMeta } from './meta.ts';
import { createSqliteDatabase } from './sqlite-database.ts';

const KEY = 'audit_head';

/** Returns the last record; undefined while the log is empty. */
export function* storedHead(): Work<AuditHead | undefined> {
  const [sequence, hash] = ((yield* metaValue(KEY)) ?? '').split(':');
  return hash === undefined ? undefined : { sequence: Number(sequence), hash };
}

export function readHead(db: DatabaseSync): AuditHead | undefined {
  return createSqliteDatabase(db).now(storedHead());
}

export const saveHead = ({ sequence, hash }: AuditHead) => putMeta(KEY, `${sequence}:${hash}`);
