/** The database below the stores, with a journal, for tests that every database must pass. */
import { test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { AuditEntry } from '#automate/ledger/audit-log.ts';
import { all, type Database, type Row } from '#storage/database.ts';
import { createJournal, type Journal } from '#storage/ledger-journal.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { createLedger, type SqliteLedger } from '#storage/sqlite-ledger.ts';
import { SERVERS, type ServerName } from './servers.ts';
import { postgresStore } from './test-databases.ts';

export interface TestStore {
  readonly database: Database;
  readonly journal: Journal;
  /** Returns the records of the audit log, without their positions. */
  audited(): Promise<readonly AuditEntry[]>;
}

/** Opens an empty store, by the name of its database. */
export const STORES: Readonly<Record<string, () => Promise<TestStore>>> = {
  SQLite: openSqlite,
  ...Object.fromEntries(SERVERS.map((server) => [server, () => openPostgresOn(server)])),
};

/** Opens an empty ledger, by the name of its database. */
export const LEDGERS: readonly (readonly [name: string, open: () => Promise<SqliteLedger>])[] = Object.entries(
  STORES,
).map(([name, open]) => [
  name,
  async () => createLedger((await open()).journal, { problem: undefined, distrust: undefined }),
]);

/** Defines a test that the ledger must pass on every database. */
export function ledgerTest(title: string, work: (ledger: SqliteLedger) => Promise<void>): void {
  // oxlint-disable-next-line vitest/expect-expect -- the work has them
  test.each(LEDGERS)(`%s: ${title}`, async (_name, open) => work(await open()));
}

async function openSqlite(): Promise<TestStore> {
  const store = openMemoryStore('here');
  const audit = memoryAudit();
  return { database: store.database, journal: createJournal(store, audit), audited: async () => audit.entries };
}

async function openPostgresOn(server: ServerName): Promise<TestStore> {
  const database = await postgresStore(server);
  const identity = await migrate(database);
  const { journal } = createPostgresJournal({ database, clock: new ManualClock(1_000), ...identity });
  return {
    database,
    journal,
    audited: async () => (await database.read(all('SELECT record FROM audit ORDER BY sequence'))).map(entryOf),
  };
}

/** Fields of a record that its entry does not have. */
const POSITION = ['sequence', 'time', 'store', 'opening', 'previous', 'hash'];

function entryOf({ record }: Row): AuditEntry {
  const fields = Object.entries(JSON.parse(String(record)) as AuditEntry);
  return Object.fromEntries(fields.filter(([name]) => !POSITION.includes(name))) as unknown as AuditEntry;
}
