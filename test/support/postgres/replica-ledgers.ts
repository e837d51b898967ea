/** Ledgers of several replicas over one database, with leases that a test gives. */
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { get, type Database } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { createLedger, type SqliteLedger } from '#storage/sqlite-ledger.ts';
import type { ServerName } from './servers.ts';
import { emptyDatabase, opened } from './test-databases.ts';

export interface ReplicaLedger {
  readonly ledger: SqliteLedger;
  readonly database: Database;
  /** Epochs of the leases that the replica believes to have. */
  readonly epochs: Map<string, number>;
}

export interface ReplicaLedgers {
  /** Opens the ledger of another process. */
  open(clock?: Clock): Promise<ReplicaLedger>;
  /** Gives accounts to a replica. An earlier owner does not learn of it. */
  give(replica: ReplicaLedger, ...accounts: readonly string[]): Promise<void>;
}

const TAKE = `INSERT INTO leases (account, epoch) VALUES (?, 1)
  ON CONFLICT (account) DO UPDATE SET epoch = leases.epoch + 1 RETURNING epoch`;

export async function replicaLedgers(server: ServerName): Promise<ReplicaLedgers> {
  const url = await emptyDatabase(server);
  return {
    async open(clock = systemClock) {
      const epochs = new Map<string, number>();
      const epochOf = (account: string): number | undefined => epochs.get(account);
      const database = opened(url, { epochOf });
      const identity = await migrate(database);
      const { journal } = createPostgresJournal({ database, clock, epochOf, ...identity });
      return { ledger: createLedger(journal, {}), database, epochs };
    },
    async give({ database, epochs }, ...accounts) {
      for (const account of accounts) {
        const row = await database.transaction(get(TAKE, account));
        epochs.set(account, Number(row?.['epoch']));
      }
    },
  };
}

/** Returns the ledger of the engine of a replica, which owns these accounts only. */
export function engineLedger({ ledger, epochs }: ReplicaLedger): Ledger {
  return ledger.within([...epochs.keys()]);
}
