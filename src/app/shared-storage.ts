/** Store in a PostgreSQL database, which several replicas share. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '#config/config.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import { OWN } from '#observe/aggregation/totals.ts';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import type { AuditCounts } from '#automate/ledger/counted-audit.ts';
import { get, type Database } from '#storage/database.ts';
import type { Journal } from '#storage/ledger-journal.ts';
import { recordOpening } from '#storage/ledger-trust.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { createAuditTableReader } from '#storage/postgres/audit-table-reader.ts';
import { createCanaryRelay } from '#storage/postgres/canary-relay.ts';
import { urlOf } from '#storage/postgres/connection-uri.ts';
import { openLeaseConnection, databasePlace } from '#storage/postgres/connections.ts';
import { connectionName, createLeaseTable } from '#storage/postgres/lease-table.ts';
import { heartbeatMs } from '#storage/postgres/leases.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { openPostgres } from '#storage/postgres/postgres-database.ts';
import { CommitUnknownError, explainPostgres } from '#storage/postgres/postgres-error.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import type { PostgresSettings } from '#storage/settings.ts';
import { openStore } from '#storage/sqlite.ts';
import { createLedger } from '#storage/sqlite-ledger.ts';
import { createTotals } from '#storage/totals.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import { connectPeers } from './peers.ts';
import { Replica } from './replica.ts';
import type { Storage, StorageDeps } from './storage.ts';
import { openStores } from './stores.ts';

const CHECK_MS = 10_000;
/** @throws {Error} if the database is unavailable, or its schema is that of another version */
export async function openShared(
  config: Config,
  settings: PostgresSettings,
  { clock, events }: StorageDeps,
  parts: Parts,
): Promise<Storage> {
  const { leaseFor, poolSize } = settings;
  // The command socket is there.
  makeFolder(dirname(config.localPath), 0o750);
  const url = urlOf(settings);
  const name = settings.replica ?? hostname();
  const session = randomBytes(4).toString('hex');
  const application = connectionName(session, name);
  const epochOf = (account: string): number | undefined => replica.epochOf(account);
  const pooled = openPostgres({
    url,
    name: application,
    poolSize,
    clock,
    epochOf,
  });
  parts.ending('connections to the store', 2_000, async () => pooled[Symbol.asyncDispose]());
  const identity = await migrate(pooled);
  const database = watched(pooled, () => replica.renew());
  const { journal: uncounted, audit } = createPostgresJournal({ database, clock, epochOf, ...identity });
  const { journal, counts } = countedJournal(uncounted);
  const leaseConnection = { url, name: application, timeoutMs: heartbeatMs(leaseFor) };
  const replica = new Replica(
    {
      name,
      session,
      leaseMs: leaseFor,
      clock,
      events,
      table: createLeaseTable(),
      connect: () => openLeaseConnection(leaseConnection),
      onReturn() {
        pooled.renew();
        peers.renew();
      },
    },
    config,
  );
  // The counts of a process are its own: each replica is a target of its own, too.
  const own = createTotals(parts.use(openMemoryStore(name)));
  const kept = keepCounts({ events, totals: own, clock });
  parts.ending('counts of the daemon', 2_000, async () => kept[Symbol.asyncDispose]());
  const ledger = createLedger(journal, await recordOpening(journal, audit));
  await replica.start();
  parts.ending('leases', 5_000, () => replica.stop());
  const peers = parts.use(
    connectPeers({
      url,
      name: `${application} notices`,
      database: pooled,
      clock,
      replica,
      epoch: identity.epoch,
      onFailed: (message) => events.emit({ type: 'store.failed', operation: 'commands of other replicas', message }),
    }),
  );
  let savedAt: number | undefined;
  return {
    database,
    ledger,
    auditReader: createAuditTableReader(database, `table audit of ${pooled.place}`),
    auditHead: () => audit.head(),
    auditCounts: counts,
    restored: identity.restored,
    problem: () => journal.problem() ?? replica.problem,
    savedAt: () => savedAt,
    async copy() {
      throw new Error(
        'the store is a PostgreSQL database: back it up with its own tools, such as pg_dump (docs/backup.md)',
      );
    },
    replica,
    canaryRelay: createCanaryRelay(database),
    scope: () => replica.scope(),
    peers,
    async stores() {
      const stores = await openStores(
        { database },
        { scope: replica.scope(), events, onSaved: () => void (savedAt = clock.now()) },
      );
      const { totals } = stores;
      return {
        ...stores,
        totals: { ...totals, follow: (account) => (account === OWN ? own.follow(OWN) : totals.follow(account)) },
      };
    },
    async check(next) {
      if (next.storage.postgres === undefined) openStore(next.localPath)[Symbol.dispose]();
      else await checkShared(next.storage.postgres);
    },
  };
}

/** Checks that the database can be reached. Rejects with a message for the operator. */
export async function checkShared(settings: PostgresSettings): Promise<void> {
  const url = urlOf(settings);
  try {
    const connection = await openLeaseConnection({ url, name: 'opsd check', timeoutMs: CHECK_MS });
    try {
      await connection.run(get('SELECT 1'));
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw explainPostgres(error, databasePlace(url));
  }
}

/** Counts the records and failed writes of this process. */
function countedJournal(journal: Journal): { readonly journal: Journal; readonly counts: () => AuditCounts } {
  let records = 0;
  let failures = 0;
  const write: Journal['write'] = async (work, account) => {
    let told = 0;
    try {
      const result = await journal.write(
        (tell) =>
          work(function* (entry) {
            told = 1;
            yield* tell(entry);
          }),
        account,
      );
      records += told;
      return result;
    } catch (error) {
      failures += told;
      throw error;
    }
  };
  return { journal: { ...journal, write }, counts: () => ({ records, failures }) };
}

/** @param onUnknown called after a commit with an unknown outcome: the state in memory may differ from the store */
function watched(database: Database, onUnknown: () => void): Database {
  return {
    dialect: database.dialect,
    read: (work) => database.read(work),
    view: (use, signal) => database.view(use, signal),
    transaction: (work, account) =>
      database.transaction(work, account).catch((error: unknown) => {
        if (error instanceof CommitUnknownError) onUnknown();
        throw error;
      }),
  };
}
