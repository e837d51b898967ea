/** The SQL of docs/replicas.md runs on the tables of the store, as a role that can only read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { POSTGRES_MIGRATIONS } from '#storage/postgres/schema.ts';
import { emptyDatabase } from '../../support/postgres/test-databases.ts';
import { SERVERS } from '../../support/postgres/servers.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/replicas.md'), 'utf8');
const BLOCKS = [...PAGE.matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql!);
const QUERIES = BLOCKS.filter((sql) => sql.startsWith('SELECT'));
const SETUP = BLOCKS.filter((sql) => !sql.startsWith('SELECT'));

const FACTS = `
  INSERT INTO runs (id, policy, account, plan_id, at, cause) VALUES (1, 'p', 'shop', 'plan-1', 1, 'schedule');
  INSERT INTO plans (hash, id, state, saved_at, expires_at, by, reason, plan, targets)
    VALUES ('h', 'plan-1', 'applied', 1, 2, 'alice', 'outage is over', '{}', '[]');
  INSERT INTO intents (id, run_id, at, epoch, policy, account, action, target, group_name, items, proposal)
    VALUES (1, 1, extract(epoch FROM now()) * 1000, 1, 'p', 'shop', 'workflow-dlq.resume', 'a', 'g', 2, '{}'),
      (2, 1, extract(epoch FROM now()) * 1000, 1, 'p', 'shop', 'workflow-dlq.resume', 'b', 'g', 3, '{}');
  INSERT INTO outcomes (intent_id, at, outcome) VALUES (1, 1, 'accepted'), (1, 2, 'verified');
  INSERT INTO replicas (id, name, draining, started_at, expires_at) VALUES ('r/1', 'r', 0, 1, 2);
  INSERT INTO leases (account, owner, epoch, owned_since) VALUES ('shop', 'r/1', 4, 1000), ('mail', NULL, 2, NULL), ('', 'r/1', 1, 1);
`;

test('the page has the SQL that is tested', () => {
  expect([SETUP.length, QUERIES.length]).toEqual([2, 3]);
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
