/** Outages of a PostgreSQL server: the error that the operator reads, and work that continues with the same pool. */
import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '#foundation/platform/secret.ts';
import { all, run, type Work } from '#storage/database.ts';
import { openLeaseConnection } from '#storage/postgres/connections.ts';
import { createLeaseTable } from '#storage/postgres/lease-table.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import type { PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { authority, type Authority } from '../../support/certificates.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import type { DebianServer } from '../../support/postgres/debian-server.ts';
import { OWN_SERVERS, ownServer } from '../../support/postgres/servers.ts';
import { opened } from '../../support/postgres/test-databases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const MAX_CONNECTIONS = 10;

const insert = (): Work<number> => run(`INSERT INTO delivery_lines (line) VALUES ('a')`);

function* slowly(): Work<void> {
  yield* insert();
  yield* all('SELECT pg_sleep(60)');
}

function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'it succeeded',
    (error: Error) => error.message,
  );
}

test.each([
  'postgres://anna:hunter2@one:5432,other:5432/opsd',
  'postgres://anna:hunter2@one,other/opsd?target_session_attrs=read-write',
  'postgres:///opsd?password=hunter2&host=one,other',
])('a URL of several hosts is refused', (url) => {
  expect(() => opened(url)).toThrow(
    /^storage.postgres.url names several hosts, but the daemon connects to one: (?!.*hunter2)/,
  );
});

test.each([
  ['verify_full', 'sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full'],
  ['no-verify', 'sslmode must be one of'],
  ['verify-ca', 'needs sslrootcert'],
])('sslmode=%s is refused', (mode, message) => {
  expect(() => opened(`postgres://127.0.0.1/opsd?sslmode=${mode}`)).toThrow(message);
});

describe.each(OWN_SERVERS)('%s', () => {
  let server: DebianServer;
  let databases = 0;

  beforeAll(async () => {
    server = await ownServer({
      settings: { max_connections: String(MAX_CONNECTIONS), superuser_reserved_connections: '1' },
    });
  });

  /** Runs statements as the superuser. */
  async function sql(texts: readonly string[], database = 'postgres'): Promise<void> {
    const client = new pg.Client(`${server.url}/${database}`);
    await client.connect();
    for (const text of texts) await client.query(text);
    await client.end();
  }

  async function created(): Promise<{ readonly name: string; readonly url: string }> {
    const name = `outage_${(databases += 1)}`;
    await sql([`CREATE DATABASE ${name}`]);
    return { name, url: `${server.url}/${name}` };
  }

  async function recovered(database: PostgresDatabase): Promise<void> {
    await until({ what: 'a transaction' }, async () => (await database.transaction(insert())) === 1);
  }

  test.each([
    ['INT', 'the server ended the connection because it is shutting down'],
    ['KILL', 'the connection was cut'],
  ] as const)('a server that is ended by SIG%s and starts again', async (signal, message) => {
    const { url } = await created();
    const database = opened(url);
    await migrate(database);
    const lease = await openLeaseConnection({ url: Secret.of(url), name: 'lease', timeoutMs: 60_000 });
    const inProgress = failureOf(database.transaction(slowly()));
    const sleeping = () =>
      all(`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`);
    await until({ what: 'a transaction in progress' }, async () => (await database.read(sleeping())).length === 1);
    await server.stop(signal);
    expect(await inProgress).toContain(message);
    const isRefused = async () => (await failureOf(database.transaction(insert()))).includes('nothing listens there');
    await until({ what: 'a refused connection' }, isRefused);
    await expect(lease.run(all('SELECT 1'))).rejects.toThrow(`${new URL(url).host}${new URL(url).pathname}: `);
    await server.start();
    await recovered(database);
    expect(await database.read(all('SELECT line FROM delivery_lines'))).toEqual([{ line: 'a' }]);
  });

  test('a standby is replaced by the primary, without the old connections', async () => {
    const { url } = await created();
    const proxy = await cuttingProxy(url);
    const database = opened(proxy.url, { poolSize: 1 });
    await migrate(database);
    const standby = await ownServer({ primary: server.url });
    const before = opened(url.replace(server.url, standby.url));
    await expect(migrate(before)).rejects.toThrow('the server is read-only: connect to the primary server');
    await server.stop('KILL');
    proxy.follow(standby.url);
    const isReadOnly = async () =>
      (await failureOf(database.transaction(insert()))).includes('the server is read-only');
    await until({ what: 'a connection to the standby' }, isReadOnly);
    // The connection to the standby stays open, and a new one leads to the new primary.
    await server.start();
    proxy.follow(server.url);
    expect(await database.transaction(insert())).toBe(1);
    standby.promote();
    await recovered(before);
  });

  test('a lease does not survive the promotion of a standby, which may lack the last commits', async () => {
    const { url } = await created();
    let epoch = 1;
    await migrate(opened(url));
    const table = createLeaseTable();
    const take = async (target: string): Promise<number | undefined> => {
      const connection = await openLeaseConnection({ url: Secret.of(target), name: 'lease', timeoutMs: 60_000 });
      const id = `one/${randomUUID()}`;
      await connection.run(table.join({ id, name: 'one', accounts: [] }, 30_000));
      const { leases } = await connection.run(table.survey(['production'], true));
      const taken = await connection.run(table.take(leases[0]!, id));
      await connection.close();
      return taken;
    };
    expect(await take(url)).toBe(epoch);
    const standby = await ownServer({ primary: server.url });
    const promoted = url.replace(server.url, standby.url);
    standby.promote();
    const database = opened(promoted, { epochOf: () => epoch });
    const lost = async () => (await failureOf(database.transaction(insert(), 'production'))).includes('had epoch 1');
    await until({ what: 'the end of the lease' }, lost);
    epoch = 1_000_001;
    expect(await take(promoted)).toBe(epoch);
    expect(await database.transaction(insert(), 'production')).toBe(1);
  });

  test('a server without a free connection', async () => {
    const { url } = await created();
    const database = opened(url, { poolSize: 1 });
    await migrate(database);
    await sql(['CREATE ROLE crowd LOGIN SUPERUSER']);
    const crowd: pg.Client[] = [];
    // Connections of the test before may still end on the server: all must be of this database.
    const ours = () => all('SELECT 1 FROM pg_stat_activity WHERE datname = current_database()');
    await until({ what: 'all connections to be in use' }, async () => {
      const client = new pg.Client(url.replace('opsd@', 'crowd@'));
      crowd.push(client);
      await client.connect().catch(() => undefined);
      return (await database.read(ours())).length === MAX_CONNECTIONS;
    });
    const other = opened(url);
    await expect(other.transaction(insert())).rejects.toThrow(
      'the server has no free connection: raise max_connections',
    );
    await Promise.all(crowd.map((client) => client.end()));
    await recovered(other);
  });

  test('a connection that loses all bytes ends after the maximum time of a response', async () => {
    const { url } = await created();
    const proxy = await cuttingProxy(url);
    const connect = () => openLeaseConnection({ url: Secret.of(proxy.url), name: 'lease', timeoutMs: 300 });
    // A busy server may take longer to connect than the time of a response.
    const lease = await until({ what: 'a connection' }, connect);
    proxy.isSilent = true;
    await expect(lease.run(all('SELECT 1'))).rejects.toThrow('the server did not respond in time');
    await expect(connect()).rejects.toThrow('connecting took too long');
    proxy.isSilent = false;
    const rows = await until({ what: 'a response' }, async () => (await connect()).run(all('SELECT 1 AS one')));
    expect(rows).toEqual([{ one: 1 }]);
  });

  test('a password is replaced in the server, then in the file', async () => {
    const { name, url } = await created();
    const file = join(tempDir(), 'url');
    const as = (user: string): string => url.replace('opsd@', `${user}@`);
    server.write('pg_hba.conf', 'host all opsd all trust\nhost all all all scram-sha-256\n');
    server.reload();
    await sql([`CREATE ROLE anna LOGIN PASSWORD 'one'`, `ALTER DATABASE ${name} OWNER TO anna`]);
    writeFileSync(file, as('anna:one'));
    const database = opened('', { url: Secret.fromFile(file), poolSize: 1 });
    await migrate(database);
    await sql([
      `ALTER ROLE anna PASSWORD 'two'`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'anna'`,
    ]);
    // The pool may use the connection before it learns that the server ended it.
    await until({ what: 'the next connection to be rejected' }, async () =>
      (await failureOf(database.transaction(insert()))).includes('the password or user is wrong'),
    );
    writeFileSync(file, as('anna:second'));
    await expect(database.transaction(insert())).rejects.toThrow('the password or user is wrong');
    writeFileSync(file, as('anna:two'));
    await database.transaction(insert());
    await expect(opened(as('anna')).transaction(insert())).rejects.toThrow('the password is missing or wrong');
    await expect(opened(`${server.url}/nothing`).transaction(insert())).rejects.toThrow('the database does not exist');
    await sql(["CREATE ROLE guest LOGIN PASSWORD 'three'"]);
    await expect(migrate(opened(as('guest:three')))).rejects.toThrow('the user lacks a permission');
  });

  test('a URL file that is missing fails the transactions that wait for a connection, and not the process', async () => {
    const { url } = await created();
    const file = join(tempDir(), 'url');
    writeFileSync(file, url);
    const database = opened('', { url: Secret.fromFile(file), poolSize: 1 });
    await migrate(database);
    const first = failureOf(database.transaction(slowly()));
    const second = failureOf(database.transaction(insert()));
    renameSync(file, `${file}.gone`);
    await sql([
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'`,
    ]);
    // Whether a statement was in progress decides the reason.
    expect(await first).toContain('the PostgreSQL store is unavailable');
    expect(await second).toContain('ENOENT');
    renameSync(`${file}.gone`, file);
    await recovered(database);
  });

  test('TLS as sslmode demands', async () => {
    const { url } = await created();
    const [own, foreign] = [await authority(), await authority()];
    const folder = tempDir();
    const fileOf = (name: string, { cert }: Authority): string => {
      writeFileSync(join(folder, name), cert);
      return `&sslrootcert=${encodeURIComponent(join(folder, name))}`;
    };
    const [known, unknown] = [fileOf('own.pem', own), fileOf('foreign.pem', foreign)];
    /** Returns `TLS` or `plain` for a connection, or the error. */
    const outcome = async (mode: string): Promise<string> => {
      const inUse = all('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      const address = Secret.of(`${url}?sslmode=${mode}`.replace('?sslmode=default', ''));
      try {
        const connection = await openLeaseConnection({ url: address, name: 'outcome', timeoutMs: 10_000 });
        const [row] = await connection.run(inUse);
        await connection.close();
        return row!['ssl'] === 1 ? 'TLS' : 'plain';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const outcomes = async (modes: Readonly<Record<string, string>>): Promise<void> => {
      for (const [mode, expected] of Object.entries(modes)) {
        expect([mode, await outcome(mode)]).toEqual([mode, expect.stringContaining(expected)]);
      }
    };
    await outcomes({
      default: 'plain',
      prefer: 'plain',
      require: 'the server has no TLS, which sslmode demands',
      [`verify-full${known}`]: 'the server has no TLS',
    });
    const use = async (sans: Parameters<Authority['issue']>[0]): Promise<void> => {
      const { cert, key } = await own.issue(sans);
      server.write('server.crt', cert);
      server.write('server.key', key);
      await sql(['ALTER SYSTEM SET ssl = on']);
      server.reload();
    };
    await use({});
    await until({ what: 'TLS' }, async () => (await outcome('require')) === 'TLS');
    await outcomes({
      disable: 'plain',
      default: 'TLS',
      allow: 'TLS',
      [`require${unknown}`]: 'unknown authority: set sslrootcert',
      [`verify-ca${unknown}`]: 'unknown authority',
      [`verify-ca${known}`]: 'TLS',
      'verify-full': 'unknown authority',
      [`verify-full${known}`]: 'TLS',
      'verify-full&sslrootcert=/missing.pem': `open '/missing.pem'`,
    });
    await use({ sans: [{ type: 'dns', value: 'db.example' }] });
    const forOther = 'the certificate of the server is for another host';
    await until({ what: 'the other certificate' }, async () =>
      (await outcome(`verify-full${known}`)).includes(forOther),
    );
    await outcomes({ [`verify-ca${known}`]: 'TLS' });

    // A role that must show a client certificate. Its files are read for each new connection.
    const pairOf = async (by: Authority): Promise<string> => {
      const { cert, key } = await by.issue({ use: 'client' });
      writeFileSync(join(folder, 'client.crt'), cert);
      writeFileSync(join(folder, 'client.key'), key);
      return `&sslcert=${encodeURIComponent(join(folder, 'client.crt'))}&sslkey=${encodeURIComponent(join(folder, 'client.key'))}`;
    };
    server.write('clients.crt', own.cert);
    server.write('pg_hba.conf', 'hostssl all carol all trust clientcert=verify-ca\nhost all all all trust\n');
    await sql(['CREATE ROLE carol LOGIN SUPERUSER', `ALTER SYSTEM SET ssl_ca_file = 'clients.crt'`]);
    server.reload();
    const carol = (options: string): Promise<string> => {
      const address = Secret.of(`${url.replace('opsd@', 'carol@')}?sslmode=require${options}`);
      const connected = openLeaseConnection({ url: address, name: 'carol', timeoutMs: 10_000 });
      return failureOf(connected.then((connection) => connection.close()));
    };
    const missing =
      'the server does not let this user connect: check the user, pg_hba.conf, sslmode, and sslcert and sslkey for a client certificate';
    let refusal = '';
    await until({ what: 'client certificates to be demanded' }, async () => {
      refusal = await carol('');
      return refusal !== 'it succeeded';
    });
    expect(refusal).toContain(missing);
    const pair = await pairOf(own);
    expect(await carol(pair)).toBe('it succeeded');
    await pairOf(foreign);
    expect(await carol(pair)).toContain('the server rejects the client certificate: check sslcert and sslkey');
    writeFileSync(join(folder, 'client.key'), (await own.issue()).key);
    expect(await carol(pair)).toContain('the files of sslcert and sslkey do not belong together');
  });
});
