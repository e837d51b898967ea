/** PostgreSQL of a campaign, with a record of each change of a lease that no replica writes. */
import pg from 'pg';
import { ownServer } from '../postgres/servers.ts';
import { until } from '../until.ts';

const DATABASE = 'campaign';

const RECORD_LEASES = `
  CREATE SCHEMA truth;
  CREATE TABLE truth.leases (
    id BIGINT GENERATED ALWAYS AS IDENTITY, account TEXT, epoch BIGINT, owner TEXT,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  CREATE FUNCTION truth.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO truth.leases (account, epoch, owner) VALUES (NEW.account, NEW.epoch, NEW.owner);
      RETURN NEW;
    END $$;
  INSERT INTO truth.leases (account, epoch, owner) SELECT account, epoch, owner FROM leases;
  CREATE TRIGGER note AFTER INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION truth.note()`;

export interface LeaseChange {
  readonly account: string;
  readonly epoch: number;
  /** Id of the replica; null after a handover. */
  readonly owner: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Starts a server with an empty database. */
export async function databaseServer() {
  const server = await ownServer();
  await query(`${server.url}/postgres`, `CREATE DATABASE ${DATABASE}`);
  const url = `${server.url}/${DATABASE}`;
  /** Returns the rows of a query. While the server restarts, the query is repeated: it must only read. */
  const rows = <Row>(sql: string): Promise<readonly Row[]> =>
    until({ what: 'the database to respond' }, () => query<Row>(url, sql));
  return {
    url,
    rows,
    /** Records leases from now on. The tables must exist. */
    recordLeases: () => query(url, RECORD_LEASES),
    leaseChanges: () =>
      rows<LeaseChange>(
        `SELECT account, epoch::float8 AS epoch, owner, extract(epoch FROM at)::float8 * 1000 AS at
         FROM truth.leases WHERE account <> '' ORDER BY id`,
      ),
    /** @param signal `INT` cancels the transactions, `KILL` leaves no time */
    stop: (signal: 'INT' | 'KILL') => server.stop(signal),
    restart: () => server.start(),
  };
}

async function query<Row>(url: string, sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query(sql);
    return (rows ?? []) as readonly Row[];
  } finally {
    await client.end().catch(() => undefined);
  }
}
