/**
 * Follows docs/replicas.md: its SQL and its configuration on a new database, its queries as a role that can only read, and
 * every name that it mentions.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { allKeys } from '#config/schema-walk.ts';
import { configSettings } from '#config/settings.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { METRIC_NAMES } from '#observe/catalog/catalog.ts';
import { parseArguments } from '#cli/arguments.ts';
import { namedCommand } from '#cli/help.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../../deploy/prometheus/groups.ts';
import { opsd } from '../../cli/terminal.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';
import { SERVERS, urlOf } from '../../support/postgres/servers.ts';
import { tempDir } from '../../support/temp-dir.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/replicas.md'), 'utf8');
const sqlOf = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../deploy/postgres', name), 'utf8');
const SETUP = [sqlOf('reader.sql')];
const QUERIES = sqlOf('queries.sql').split(/\n(?=--)/);

const FACTS = `
  INSERT INTO runs (id, policy, account, plan_id, at, cause) VALUES (1, 'p', 'shop', 'plan-1', 1, 'schedule');
  INSERT INTO plans (revision, hash, id, state, saved_at, expires_at, by, reason, plan, targets)
    VALUES (1, 'h', 'plan-1', 'applied', 1, 2, 'alice', 'outage is over', '{}', '[]');
  INSERT INTO intents (id, run_id, at, epoch, policy, account, action, target, group_name, items, proposal)
    VALUES (1, 1, extract(epoch FROM now()) * 1000, 1, 'p', 'shop', 'workflow-dlq.resume', 'a', 'g', 2, '{}'),
      (2, 1, extract(epoch FROM now()) * 1000, 1, 'p', 'shop', 'workflow-dlq.resume', 'b', 'g', 3, '{}');
  INSERT INTO outcomes (intent_id, at, outcome) VALUES (1, 1, 'accepted'), (1, 2, 'verified');
  INSERT INTO replicas (id, name, draining, started_at, expires_at) VALUES ('r/1', 'r', 0, 1, 2);
  INSERT INTO leases (account, owner, epoch, owned_since) VALUES ('shop', 'r/1', 4, 1000), ('mail', NULL, 2, NULL), ('', 'r/1', 1, 1);
`;

test('the page has the SQL that is tested', () => {
  expect(QUERIES.map((sql) => sql.split('\n')[1]!.slice(0, 6))).toEqual(['SELECT', 'SELECT', 'SELECT']);
  for (const name of ['reader.sql', 'queries.sql']) expect(PAGE).toContain(`](../deploy/postgres/${name})`);
});

test.for(SERVERS)('%s: a reader gets the facts, and can change nothing', async (server) => {
  const query = server === 'PGlite' ? await pglite() : await postgres();
  // Roles belong to the whole server, so each test has its own.
  const role = `reader_${crypto.randomUUID().slice(0, 8)}`;
  const own = (sql: string): string => sql.replaceAll('opsd_reader', role);
  for (const sql of [...POSTGRES_MIGRATIONS, FACTS, ...SETUP]) await query(own(sql));
  onTestFinished(() => query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`).then(() => undefined));
  await query(`SET ROLE ${role}`);
  const [items, plans, owners] = [await query(QUERIES[0]!), await query(QUERIES[1]!), await query(QUERIES[2]!)];
  const counts = Object.fromEntries(items.map(({ outcome, items: count }) => [String(outcome), Number(count)]));
  expect(counts).toEqual({ pending: 3, verified: 2 });
  expect(plans).toMatchObject([{ plan: 'plan-1', by: 'alice', reason: 'outage is over' }]);
  expect([plans[0]!['actions'], plans[0]!['verified']].map(Number)).toEqual([2, 1]);
  expect(owners.map(({ account, owner, epoch }) => [account, owner, Number(epoch)])).toEqual([
    ['mail', null, 2],
    ['shop', 'r', 4],
  ]);
  for (const change of ["UPDATE leases SET owner = 'x'", 'DELETE FROM outcomes', 'SELECT * FROM audit'])
    await expect(query(change)).rejects.toThrow('permission denied');
});

test.for(SERVERS.filter((server) => server === 'PostgreSQL'))(
  '%s: the database, the role, and the configuration of the page are enough',
  async (server) => {
    const [, create, yaml, uri] = /## Set up the database.*?```\n(.*?)```.*?```yaml\n(.*?)```.*?```\n(.*?)\n```/s.exec(
      PAGE,
    )!;
    const name = `opsd_${crypto.randomUUID().slice(0, 8)}`;
    const address = new URL(await urlOf(server));
    const admin = new pg.Client(`${address.href}/postgres`);
    await admin.connect();
    onTestFinished(async () => {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.query(`DROP ROLE IF EXISTS ${name}`);
      await admin.end();
    });
    for (const sql of create!.split('\n').filter((line) => line !== ''))
      await admin.query(sql.replaceAll(/\bopsd\b/g, name));

    const folder = tempDir();
    // The server of the test has no TLS.
    const url = uri!
      .replace('//opsd:', `//${name}:`)
      .replace('@db.example:5432/opsd?', `@${address.host}/${name}?`)
      .replace(/sslmode=.*/, 'sslmode=disable');
    writeFileSync(join(folder, 'url'), url);
    const accounts = 'accounts: [{ name: shop, url: "http://127.0.0.1:9", token: t }]\n';
    const storage = yaml!.replace('/etc/opsd/postgres/url', 'url');
    const file = join(folder, 'opsd.yaml');
    writeFileSync(file, accounts + storage);
    expect(await opsd(['check', file], { clock: systemClock })).toMatchObject({ code: 0, stderr: '' });

    await migrate(opened(url));
    const { rows } = await admin.query<{ owner: string }>(
      'SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1',
      [name],
    );
    expect(rows).toEqual([{ owner: name }]);
    const doctor = await opsd(['doctor', '--config', file, '-o', 'json'], { clock: systemClock });
    const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; state: string }[] };
    expect(checks.find(({ check }) => check === 'database')).toMatchObject({ state: 'ok' });
  },
);

test('every metric, alert, setting, table, and command that the page names exists', async () => {
  const code = [...PAGE.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!);
  const recorded = RECORDING_GROUPS.flatMap(({ rules }) => rules.map(({ record }) => record));
  const series = code.flatMap((text) => text.match(/\b[a-z_]*:?(?:opsd|msgsvc)_[a-z_]+(?::\w+)?/g) ?? []);
  expect(series.length).toBeGreaterThan(3);
  expect(series.filter((name) => ![...METRIC_NAMES, ...recorded].includes(name as never))).toEqual([]);

  const alerts = PAGE.match(/\bOpsd[A-Z]\w+/g)!;
  expect(alerts.length).toBeGreaterThan(5);
  expect(alerts.filter((name) => !ALERT_GROUPS.some(({ rules }) => rules.some(({ alert }) => alert === name)))).toEqual(
    [],
  );

  const keys = [...allKeys(configSettings)].map(({ path }) => path);
  const settings = code.filter((text) => /^[a-z]+(\.[a-zA-Z]+)+$/.test(text));
  expect(settings.length).toBeGreaterThan(3);
  const postgres = code.flatMap((text) => /^(urlFile|poolSize|leaseFor|replica)\b/.exec(text)?.[1] ?? []);
  expect(
    [...settings, ...postgres.map((key) => `storage.postgres.${key}`)].filter((key) => !keys.includes(key)),
  ).toEqual([]);

  const tables = POSTGRES_MIGRATIONS.flatMap((sql) =>
    [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name!),
  );
  const named = [...PAGE.matchAll(/(?:\btables?|row in|is a table \() ?`(\w+)`(?: and `(\w+)`)?/g)].flatMap(
    ([, ...names]) => names,
  );
  const mentioned = new Set(named.filter((name) => name !== undefined));
  expect([...mentioned]).toEqual(['audit', 'leases', 'views', 'view_slices']);
  expect([...mentioned].filter((name) => !tables.includes(name))).toEqual([]);

  for (const line of code.filter((text) => text.startsWith('opsd '))) {
    const { command, args } = await namedCommand(line.split(' ').slice(1));
    expect(command, line).toBeDefined();
    if (line.includes('--')) expect(() => parseArguments(command!, args), line).not.toThrow();
  }
});

type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

async function pglite(): Promise<Query> {
  const database = await PGlite.create();
  return async (sql) => (await database.exec(sql)).at(-1)?.rows ?? [];
}

async function postgres(): Promise<Query> {
  const client = new pg.Client(await emptyDatabase('PostgreSQL'));
  await client.connect();
  onTestFinished(() => client.end());
  return async (sql) => (await client.query<Record<string, unknown>>(sql)).rows;
}
