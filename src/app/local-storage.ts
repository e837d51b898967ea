/** Store in an SQLite file, which this process has for itself, or in memory. */
import { statSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import { countedAudit } from '#automate/ledger/counted-audit.ts';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { auditFiles, openAuditLog } from '#storage/audit-file.ts';
import { createBackupFolder } from '#storage/backup-folder.ts';
import { createCopies } from '#storage/backup.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { WHOLE } from '#storage/scope.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { createRequestUseStore } from '#storage/request-use.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore, tryStore, type Store } from '#storage/sqlite.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { Storage, StorageDeps } from './storage.ts';
import { openStores, type Stores } from './stores.ts';

const READS_ONLY = 'this command works without a daemon and only reads';

/** @throws {Error} if the store is unavailable */
export async function openLocal(config: Config, deps: StorageDeps, parts: Parts): Promise<Storage> {
  const { clock, events, direct } = deps;
  const { audit: auditSettings, backup } = config.storage;
  const { localPath } = config;
  const isInMemory = direct?.store === 'memory';
  const store = parts.use(isInMemory ? openMemoryStore('direct', READS_ONLY) : openStore(localPath));
  // A direct daemon leaves the counters, spans and notifications of the configured store alone.
  const observed = direct === undefined ? store : parts.use(openMemoryStore('direct'));
  const copies = createCopies(store);
  parts.ending('copies of the store', 10_000, async () => copies[Symbol.asyncDispose]());
  let savedAt: number | undefined;
  const stores: Stores = {
    ...(await openStores(observed, { scope: WHOLE, events, onSaved: () => void (savedAt = clock.now()) })),
    requestUse: createRequestUseStore(store),
  };
  const kept = keepCounts({ events, totals: stores.totals, clock });
  // These end after the parts whose last events they count.
  parts.ending('commits of counters', 5_000, () => stores.totals.settled());
  parts.ending('counts of the daemon', 2_000, async () => kept[Symbol.asyncDispose]());
  const audit = parts.use(isInMemory ? memoryAudit() : openAuditLog(store, clock, auditSettings.maxFileBytes));
  const counted = countedAudit(audit);
  return {
    database: store.database,
    ledger: await openLedger(store, counted.audit),
    auditReader: {
      ...auditFiles(auditPathOf(localPath), async () => audit.head()),
      verify: () => audit.verify(),
    },
    auditHead: () => audit.head(),
    auditCounts: counted.counts,
    restored: store.restored,
    problem: () => store.problem,
    savedAt: () => savedAt,
    path: store.path,
    copy: (file) => copies.write(file),
    backups:
      backup === undefined || direct !== undefined
        ? undefined
        : { every: backup.every, folder: createBackupFolder(backup, { store, copies, clock }) },
    stores: async () => stores,
    scope: () => WHOLE,
    async check(next) {
      const { postgres } = next.storage;
      if (postgres === undefined) check(store, next.localPath);
      else await (await import('./shared-storage.ts')).checkShared(postgres);
    },
  };
}

/** Checks that a daemon can have its store there. The present file must not be opened again: that drops its lock. */
function check(store: Store, path: string): void {
  if (isSameFile(path, store.path)) tryStore(store);
  else openStore(path)[Symbol.dispose]();
}

function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  const a = statSync(one, { throwIfNoEntry: false });
  const b = statSync(other, { throwIfNoEntry: false });
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino;
}
