/** No query of the ledger scans its whole history: a million intents cost as much as a thousand. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ACTION_QUERIES, ofPlan } from '#storage/ledger-actions.ts';
import { budgetQueries, RAISES } from '#storage/ledger-budgets.ts';
import { stepQuery } from '#storage/ledger-campaigns.ts';
import { createCaps, ITEMS, oldestQuery, SLICE_MS } from '#storage/ledger-caps.ts';
import { historyQueries } from '#storage/ledger-history.ts';
import { WORK_LIST } from '#storage/ledger-intents.ts';
import { RETRIGGERS } from '#storage/ledger-operations.ts';
import { forgettable } from '#storage/ledger-retention.ts';
import { LAST_RUNS, LAST_STOPS, recentRunsQuery } from '#storage/ledger-runs.ts';
import { PENDING_WITH_KEY, selectPendingTriggers } from '#storage/ledger-triggers.ts';
import { usageQueries } from '#storage/ledger-usage.ts';
import { MIGRATIONS } from '#storage/schema.ts';
import { createSqliteDatabase } from '#storage/sqlite-database.ts';
import { raiseTo, resumeOf } from '../support/ledger-facts.ts';

function schema(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
  return db;
}

function planOf(sql: string): string[] {
  const steps = schema().prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.map((row) => String(row['detail']));
}

const { dialect } = createSqliteDatabase(new DatabaseSync(':memory:'));

const QUERIES: readonly (readonly [string, string])[] = [
  ...Object.entries(ACTION_QUERIES),
  ['actions of a plan', `SELECT i.id FROM intents i ${ofPlan(dialect)}`],
  ['last runs', LAST_RUNS],
  ['recent runs', recentRunsQuery(dialect)],
  ['last stops', LAST_STOPS],
  ['raises', RAISES],
  ...Object.entries(budgetQueries(dialect)),
  ['acts of steps', stepQuery(dialect)],
  ...Object.entries(WORK_LIST),
  ...Object.entries(historyQueries(dialect)),
  ...Object.entries(usageQueries(dialect)),
  ['items', ITEMS],
  ['retriggers', RETRIGGERS],
  ['oldest', oldestQuery()],
  ['forgettable', forgettable(dialect)],
  ['pending triggers', selectPendingTriggers(dialect)],
];

/** Tables that are small by design. */
const SHORT = /^(?:SCAN|SEARCH) (?:u|names|unsettled|(?:json_each|wanted) VIRTUAL TABLE .*|CONSTANT ROW)$/;

/**
 * Queries that end after a few rows: the newest actions in key order, backward; the lowest policy, which is the first.
 */
const ENDING: Readonly<Record<string, readonly string[]>> = {
  recent: ['SCAN i'],
  'last runs': ['SEARCH runs USING COVERING INDEX runs_policy'],
  // At most 5,000 rows of an index.
  steps: ['SCAN n'],
  outcomesOfSteps: ['SCAN n'],
};

/** A search without a bound walks along an index until a row matches. */
const UNBOUND = /^SEARCH \w+(?: USING (?:COVERING )?INDEX \w+)?$/;

test.each(QUERIES)('%s uses an index', (name, sql) => {
  const plan = planOf(sql);
  expect(plan.length).toBeGreaterThan(0);
  const walks = plan.filter((step) => (step.startsWith('SCAN ') || UNBOUND.test(step)) && !SHORT.test(step));
  expect(walks, plan.join('\n')).toEqual(ENDING[name] ?? []);
  // The lineages of an account are as many as its actions.
  expect(plan.filter((step) => step.includes('lineage>?'))).toEqual([]);
  if (name === 'recent') expect(plan).not.toContain('USE TEMP B-TREE FOR ORDER BY');
});

test('the end of an alert reads the index of the pending triggers, and not the table', () => {
  expect(planOf(PENDING_WITH_KEY)[0]).toMatch(/^SCAN triggers USING (?:COVERING )?INDEX triggers_pending$/);
});

test('a window reads whole slices and a part of one, whatever they contain', () => {
  const plan = planOf(ITEMS).join();
  expect(plan).toContain('SEARCH cap_slices USING PRIMARY KEY (slice>?)');
  expect(plan).toContain('SEARCH intents USING COVERING INDEX intents_caps (at>? AND at<?)');
});

test('actions of one slice, policy and type share a row, and a return reduces it', () => {
  const db = schema();
  const database = createSqliteDatabase(db);
  const caps = createCaps(dialect);
  for (let n = 0; n < 100; n++) database.now(caps.take(resumeOf(`d${n}`, { items: 2 }), 7 * SLICE_MS + n));
  database.now(caps.take(raiseTo(120), 7 * SLICE_MS));
  database.now(caps.giveBack(resumeOf('d1', { items: 2 }), 7 * SLICE_MS + 1, 2));
  expect(db.prepare('SELECT slice, action, items FROM cap_slices ORDER BY action DESC').all()).toEqual([
    { slice: 7 * SLICE_MS, action: 'workflow-dlq.resume', items: 198 },
    { slice: 7 * SLICE_MS, action: 'budget.raise', items: 1 },
  ]);
  expect(database.now(caps.used([{ scope: {}, since: 0 }]))).toEqual([198]);
});
