/** A store with an audit log, which a test opens and closes. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { openAuditLog, type AuditFile } from '#storage/audit-file.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { tempDir } from './temp-dir.ts';

/** @param maxBytes maximum size of a file of the audit log; default: the log's own */
export function auditedStore(maxBytes?: number) {
  const path = join(tempDir(), 'opsd.db');
  let opened: { store: Store; audit: AuditFile } | undefined;
  const close = (): void => {
    opened?.audit[Symbol.dispose]();
    opened?.store[Symbol.dispose]();
    opened = undefined;
  };
  onTestFinished(close);
  return {
    path,
    auditPath: auditPathOf(path),
    open: async () => {
      const store = openStore(path);
      const audit = openAuditLog(store, new ManualClock(1_000), maxBytes);
      opened = { store, audit };
      return { store, audit, ledger: await openLedger(store, audit) };
    },
    close,
  };
}
