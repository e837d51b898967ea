/** Checks of the store's PostgreSQL database. */
import { formatDuration } from '#foundation/domain/duration.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { all, get, type Row, type Work } from '#storage/database.ts';
import { movedTo } from '#storage/moved-store.ts';
import { urlOf } from '#storage/postgres/connection-uri.ts';
import { openLeaseConnection, databasePlace } from '#storage/postgres/connections.ts';
import { DATABASE_CLOCK } from '#storage/postgres/lease-table.ts';
import { foreignContent } from '#storage/postgres/migrate.ts';
import { missingPrivileges } from '#storage/postgres/privileges.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import type { PostgresSettings } from '#storage/settings.ts';
import type { CliIo } from '../command.ts';
import { finding, ok, skippedCheck, type Check, type CheckResult } from './doctor-check.ts';

const TIMEOUT_MS = 5_000;
const LEAST_VERSION = 13;
/** Connections of a replica outside of its pool. */
const OTHER_CONNECTIONS = 2;
const CLOCK_LIMIT_MS = 5_000;

/** @param isRunning true if the daemon of this configuration runs, and so has its connections already */
export async function checkDatabase(
  settings: PostgresSettings,
  isRunning: boolean,
  { clock }: CliIo,
): Promise<readonly Check[]> {
  const url = urlOf(settings);
  let subject = 'storage.postgres';
  try {
    subject = databasePlace(url);
    const connection = await openLeaseConnection({ url, name: 'opsd doctor', timeoutMs: TIMEOUT_MS });
    try {
      const works = {
        database: serverCheck(),
        'database TLS': tlsCheck(),
        'database rights': rightsCheck(),
        'database schema': schemaCheck(),
        replicas: replicasCheck(),
        'database clock': clockCheck(() => clock.now()),
        connections: connectionsCheck(isRunning ? 0 : settings.poolSize + OTHER_CONNECTIONS),
      };
      const checks: Check[] = [];
      for (const [check, work] of Object.entries(works)) {
        checks.push({ check, subject, ...(await connection.run(work)) });
      }
      return checks;
    } finally {
      await connection.close();
    }
  } catch (error) {
    const fix = 'correct storage.postgres, or repair the server; the replicas hold until it is back';
    const result = errorMessage(error).replace(`${subject}: `, '');
    return [{ check: 'database', subject, ...finding(result, fix) }];
  }
}

/** Returns the only row of a query. */
function* row(sql: string): Work<Row> {
  return (yield* get(sql))!;
}

function* serverCheck(): Work<CheckResult> {
  const { version, standby, readonly } = yield* row(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
       current_setting('default_transaction_read_only') = 'on' AS readonly`,
  );
  const result = `PostgreSQL ${String(version)}`;
  if (Number.parseInt(String(version), 10) < LEAST_VERSION) {
    return finding(result, `upgrade the server to version ${LEAST_VERSION} or later`);
  }
  if (standby === 1) return finding(`${result}, a standby, which is read-only`, 'set the host of the primary server');
  if (readonly === 1) {
    return finding(`${result}, read-only for this user`, 'turn off default_transaction_read_only for this user');
  }
  return ok(`${result} responds, and is writable`);
}

function* tlsCheck(): Work<CheckResult> {
  const { version, local } = yield* row(
    `SELECT (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS version,
       coalesce(inet_client_addr() << inet '127.0.0.0/8' OR inet_client_addr() = inet '::1', true) AS local`,
  );
  if (version !== null) return ok(`${String(version)}, as the server sees it`);
  if (local === 1) return ok('without TLS, on the same machine');
  return finding('the connection has no TLS', 'add ?sslmode=verify-full to the URL, and turn on TLS in the server');
}

function* schemaCheck(): Work<CheckResult> {
  const newest = POSTGRES_MIGRATIONS.length;
  const { schema, meta } = yield* row(`SELECT current_schema() AS schema, to_regclass('meta') IS NOT NULL AS meta`);
  if (schema === null) {
    return finding('the user has no schema', 'create the schema of its search_path, such as public');
  }
  const foreign = meta === 1 ? yield* foreignContent() : undefined;
  if (foreign !== undefined) return finding(foreign, 'set another database in storage.postgres.url');
  const known = meta === 1 ? yield* get(`SELECT value FROM meta WHERE key = 'schema'`) : undefined;
  if (known === undefined) return ok('the first start creates it');
  const version = Number(known['value']);
  if (version > newest) {
    const result = `the store has schema ${version}, and this program supports schemas only up to ${newest}`;
    return finding(result, 'run the version that wrote it');
  }
  const to = yield* movedTo();
  if (to !== undefined) {
    return finding(`the store was moved to ${to}`, 'configure that store; docs/backup.md describes how to go back');
  }
  return ok(version === newest ? `version ${version}` : `version ${version}; the next start updates it to ${newest}`);
}

function* rightsCheck(): Work<CheckResult> {
  const { create, tables } = yield* row(
    `SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS "create",
       (SELECT string_agg(tablename, ', ' ORDER BY tablename) FROM pg_tables
        WHERE schemaname = current_schema() AND NOT pg_has_role(tableowner, 'USAGE')) AS tables`,
  );
  if (create !== 1) return finding('the user cannot create tables', 'make the user the owner of the database');
  const missing = yield* missingPrivileges();
  if (missing !== undefined) return finding(missing.text, missing.fix);
  if (tables !== null) {
    return finding(`the user does not own ${String(tables)}`, 'make it the owner: REASSIGN OWNED BY … TO …');
  }
  return ok('the user owns the tables, and can create them');
}

function* replicasCheck(): Work<CheckResult> {
  const { exists } = yield* row(`SELECT to_regclass('replicas') IS NOT NULL AS exists`);
  const rows =
    exists === 1
      ? yield* all(`SELECT name, draining FROM replicas WHERE expires_at > ${DATABASE_CLOCK} ORDER BY name`)
      : [];
  if (rows.length === 0) return skippedCheck('none is running');
  const names = rows.map(({ name, draining }) => `${String(name)}${draining === 1 ? ' (stopping)' : ''}`);
  const result = `${rows.length} running: ${names.join(', ')}`;
  const running = rows.filter(({ draining }) => draining === 0).map(({ name }) => name);
  if (new Set(running).size === running.length) return ok(result);
  return finding(
    result,
    'give each replica its own name in storage.postgres.replica: two with one name get the accounts of one',
  );
}

function* clockCheck(now: () => number): Work<CheckResult> {
  const before = now();
  const { at } = yield* row(`SELECT ${DATABASE_CLOCK} AS at`);
  const ahead = Number(at) - (before + now()) / 2;
  if (Math.abs(ahead) <= CLOCK_LIMIT_MS) return ok('agrees with the clock of this machine');
  const result = `the clock of the database is ${formatDuration(Math.round(Math.abs(ahead)))} ${ahead > 0 ? 'ahead of' : 'behind'} this machine’s`;
  return finding(result, 'synchronize both clocks (NTP); leases use only the one of the database');
}

/** @param needed number of connections that a start needs */
function* connectionsCheck(needed: number): Work<CheckResult> {
  const { most, used } = yield* row(
    `SELECT CAST(current_setting('max_connections') AS INTEGER)
         - CAST(current_setting('superuser_reserved_connections') AS INTEGER) AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
  );
  const free = Math.max(0, Number(most) - Number(used));
  const result = `${free} of ${Number(most)} free`;
  if (free >= Math.max(1, needed)) return ok(result);
  return finding(
    `${result}, and a replica needs ${needed}`,
    'raise max_connections, or lower storage.postgres.poolSize',
  );
}
