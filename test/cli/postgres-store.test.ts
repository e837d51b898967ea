/** Commands about the store, with a configuration whose store is a PostgreSQL database. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import pg from 'pg';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { findDaemon } from '#cli/daemon-option.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { run } from '#storage/database.ts';
import { createLeaseTable } from '#storage/postgres/lease-table.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { createLedger } from '#storage/sqlite-ledger.ts';
import { freePort } from '../support/free-port.ts';
import { intentFor } from '../support/ledger-facts.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../support/postgres/test-databases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd, terminal } from './terminal.ts';

const server = SERVERS.at(-1)!;

/** Writes a configuration. Its URL has a password, which loopback does not check. */
async function configOf(url: string): Promise<readonly string[]> {
  const folder = tempDir();
  const secret = new URL(url);
  secret.password = 'hunter2';
  const config = join(folder, 'opsd.yaml');
  writeFileSync(join(folder, 'url'), secret.href);
  writeFileSync(
    config,
    'accounts: [{ name: production, url: "http://127.0.0.1:9", token: t }]\nstorage: { postgres: { urlFile: url } }\n',
  );
  return ['--config', config];
}

async function opsdOn(argv: readonly string[]) {
  const result = await opsd(argv, { clock: systemClock });
  expect(result.stdout + result.stderr).not.toContain('hunter2');
  return result;
}

async function databaseChecks(
  url: string,
): Promise<Readonly<Record<string, { state: string; result: string; fix?: string }>>> {
  const { stdout } = await opsdOn(['doctor', ...(await configOf(url)), '-o', 'json']);
  const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; result: string; fix?: string }[] };
  const about = checks.filter(({ check }) => /^database|^replicas|^connections/.test(check));
  expect(checks.filter(({ check }) => check === 'store' || check === 'disk')).toEqual([]);
  for (const { state, fix } of about) expect(fix !== undefined).toBe(state === 'finding');
  return Object.fromEntries(about.map(({ check, ...result }) => [check, result]));
}

describe('opsd doctor', () => {
  /** A database, its administrator, and its address for another role. */
  async function withRole(role: string) {
    const url = await emptyDatabase(server);
    await migrate(opened(url));
    const name = `${role}_${process.pid}`;
    const admin = new pg.Client(url);
    await admin.connect();
    await admin.query(`CREATE ROLE ${name} LOGIN`);
    onTestFinished(async () => {
      await admin.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
      await admin.end();
    });
    const other = new URL(url);
    other.username = name;
    return { url, name, admin, other };
  }

  test('checks a new database', async () => {
    expect(await databaseChecks(await emptyDatabase(server))).toMatchObject({
      database: {
        state: 'ok',
        result: expect.stringMatching(/^PostgreSQL \d+.* responds, and is writable$/) as string,
      },
      'database TLS': { state: 'ok', result: 'without TLS, on the same machine' },
      'database schema': { state: 'ok', result: 'the first start creates it' },
      'database rights': { state: 'ok' },
      replicas: { state: 'skipped', result: 'none is running' },
      'database clock': { state: 'ok', result: 'agrees with the clock of this machine' },
      connections: { state: 'ok', result: expect.stringMatching(/^\d+ of \d+ free$/) as string },
    });
  });

  test('names the live replicas, and not the others', async () => {
    const url = await emptyDatabase(server);
    const database = opened(url);
    await migrate(database);
    const table = createLeaseTable();
    await database.transaction(table.join({ id: '1', name: 'opsd-1', accounts: [] }, 60_000));
    await database.transaction(table.join({ id: '2', name: 'opsd-2', accounts: [] }, 60_000));
    await database.transaction(table.join({ id: '3', name: 'opsd-3', accounts: [] }, -1));
    await database.transaction(table.drain('2'));
    expect(await databaseChecks(url)).toMatchObject({
      'database schema': { state: 'ok', result: `version ${POSTGRES_MIGRATIONS.length}` },
      replicas: { state: 'ok', result: '2 running: opsd-1, opsd-2 (stopping)' },
    });
    await database.transaction(table.join({ id: '4', name: 'opsd-1', accounts: [] }, 60_000));
    expect(await databaseChecks(url)).toMatchObject({
      replicas: { state: 'finding', result: '3 running: opsd-1, opsd-1, opsd-2 (stopping)' },
    });
  });

  test('finds a store that cannot be used', async () => {
    const url = await emptyDatabase(server);
    const database = opened(url);
    await migrate(database);
    await database.transaction(run(`INSERT INTO meta VALUES ('moved_to', 'sqlite:/data/opsd.db')`));
    expect(await databaseChecks(url)).toMatchObject({
      'database schema': { state: 'finding', result: 'the store was moved to sqlite:/data/opsd.db' },
    });
    await database.transaction(run(`UPDATE meta SET value = '99' WHERE key = 'schema'`));
    expect(await databaseChecks(url)).toMatchObject({
      'database schema': { state: 'finding', result: expect.stringContaining('the store has schema 99') as string },
    });
  });

  test('finds a user without rights', async () => {
    const { name, admin, other } = await withRole('reader');
    await admin.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`);
    await admin.query(`GRANT SELECT ON meta, replicas TO ${name}`);
    expect(await databaseChecks(other.href)).toMatchObject({
      database: { state: 'finding', result: expect.stringContaining('read-only for this user') as string },
      'database rights': { state: 'finding', result: 'the user cannot create tables' },
    });
  });

  test('finds a role that lacks privileges on tables, and prints the GRANT; a start is refused with the same', async () => {
    const { url, name, admin, other } = await withRole('partial');
    await admin.query(`GRANT CREATE, USAGE ON SCHEMA public TO ${name}`);
    await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
    await migrate(opened(other.href));
    await admin.query(`REVOKE INSERT, DELETE ON outcomes FROM ${name}; REVOKE SELECT ON audit FROM ${name}`);
    const result = `the role ${name} lacks SELECT on audit; INSERT, DELETE on outcomes`;
    const fix = `as the owner of the tables, run: GRANT SELECT ON public.audit TO ${name}; GRANT INSERT, DELETE ON public.outcomes TO ${name};`;
    expect(await databaseChecks(other.href)).toMatchObject({
      'database rights': { state: 'finding', result, fix },
    });
    await expect(migrate(opened(other.href))).rejects.toThrow(`/${url.split('/').at(-1)}: ${result}: ${fix}`);
    await admin.query(fix.replace(/^.*run: /, ''));
    await migrate(opened(other.href));
    await admin.query(`REVOKE UPDATE ON ALL TABLES IN SCHEMA public FROM ${name}`);
    await expect(migrate(opened(other.href))).rejects.toThrow(
      /lacks UPDATE on alerts; UPDATE on campaign_numbers; UPDATE on \w+, and privileges on \d+ more tables: .*GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO partial_/,
    );
  });

  test('finds a server that does not respond', async () => {
    const port = await freePort();
    expect(await databaseChecks(`postgres://opsd@127.0.0.1:${port}/opsd`)).toEqual({
      database: {
        subject: `127.0.0.1:${port}/opsd`,
        state: 'finding',
        result: expect.stringMatching(/^the PostgreSQL store is unavailable: nothing listens there/) as string,
        fix: expect.stringContaining('storage.postgres') as string,
      },
    });
  });
});

test('opsd audit reads and verifies the log in the database', async () => {
  const url = await emptyDatabase(server);
  const database = opened(url);
  const { journal } = createPostgresJournal({ database, clock: new ManualClock(1_000), ...(await migrate(database)) });
  await intentFor(createLedger(journal, { problem: undefined, distrust: undefined }), 'dlq-1');
  const config = await configOf(url);
  expect((await opsdOn(['audit', ...config])).stdout).toContain(' for dlq-1,');
  const verified = await opsdOn(['audit', 'verify', ...config]);
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.stdout).toMatch(/^table audit of \S+ is intact: 2 records, head 2:[0-9a-f]{64}$/m);
  await database.transaction(run(`UPDATE audit SET policy = 'other' WHERE sequence = 2`));
  const changed = await opsdOn(['audit', 'verify', ...config]);
  expect(changed).toMatchObject({ code: 3, stderr: '' });
  expect(changed.stdout).toContain('table audit:2: column policy of record 2 was changed');
});

test('commands that need the file of a store say what to do instead', async () => {
  const config = await configOf(`postgres://opsd@127.0.0.1:${await freePort()}/opsd`);
  const restored = await opsdOn(['state', 'restore', 'copy.db', ...config]);
  expect(restored).toMatchObject({ code: 1, stdout: '' });
  expect(restored.stderr).toContain('restore the database with its own tools (docs/backup.md)');
  const unreachable = await opsdOn(['audit', ...config]);
  expect(unreachable).toMatchObject({ code: 1, stdout: '' });
  expect(unreachable.stderr).toContain('the PostgreSQL store is unavailable: nothing listens there');
  const { io, programs } = terminal();
  await using parts = new AsyncDisposableStack();
  const call = { io, programs, parts, values: { config: config[1]! }, positionals: [] };
  await expect(findDaemon(call, { writes: true, collectors: [] })).rejects.toThrow(
    'this command changes the store, which replicas share: run it on the machine of a replica, or name one with --url',
  );
});
