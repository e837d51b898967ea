/** No statement of the aggregations reads a whole table, except once at the start of the process. */
import { expect, test } from 'vitest';
import { workOf, type Database, type Work } from '#storage/database.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { runAggregations } from '../support/all-aggregations.ts';
import { memoryStore } from '../support/memory-store.ts';

const ALL = 'account NOT IN (SELECT value FROM json_each(?1))';

/** Statements that read a whole table at the start, or its first rows in the order of its key. */
const WHOLE: ReadonlySet<string> = new Set([
  `SELECT account, label, value, idle_ms AS "idleMs" FROM label_values WHERE ${ALL} ORDER BY id`,
  `SELECT coalesce(sum(spans), 0) AS spans FROM span_outbox WHERE ${ALL}`,
  `SELECT made_at FROM span_outbox WHERE ${ALL} ORDER BY id LIMIT 1`,
  `SELECT count(*) AS lines FROM delivery_lines WHERE ${ALL}`,
  `SELECT id, line FROM delivery_lines WHERE ${ALL} ORDER BY id LIMIT 500`,
]);

/** Runs every operation of the stores, and returns their statements. */
async function statements(): Promise<{ readonly sql: ReadonlySet<string>; readonly plan: (sql: string) => string[] }> {
  const store = memoryStore();
  const sql = new Set<string>();
  function* recorded<T>(work: Work<T>): Work<T> {
    let step = work.next();
    while (step.done !== true) {
      sql.add(step.value.sql);
      step = work.next(yield step.value);
    }
    return step.value;
  }
  const database: Database = {
    ...store.database,
    read: (work) => store.database.read(recorded(workOf(work))),
    transaction: (work, account) => store.database.transaction(recorded(workOf(work)), account),
  };
  await runAggregations(database);
  await createIncidentStore({ database }).readMembers(() => undefined);
  const plan = (text: string) =>
    store.db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => String(detail));
  return { sql, plan };
}

test('every statement finds its rows by an index', async () => {
  const { sql, plan } = await statements();
  expect(sql.size).toBeGreaterThan(40);
  const scans = [...sql].filter(
    (text) => !WHOLE.has(text) && plan(text).some((step) => /^SCAN (?!json_each)/.test(step)),
  );
  expect(scans).toEqual([]);
  for (const text of WHOLE) expect(sql).toContain(text);
});
