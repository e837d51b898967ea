/** No query of the ledger scans its whole history: a million intents cost as much as a thousand. */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ACTION_QUERIES } from '#storage/ledger-actions.ts';
import { PART_OF_SLICE, SLICE_MS, WHOLE_SLICES, createCaps } from '#storage/ledger-caps.ts';
import { FORGETTABLE } from '#storage/ledger-retention.ts';
import { LAST_RUNS, STOPPED_BY } from '#storage/ledger-runs.ts';
import { PENDING_TRIGGERS } from '#storage/ledger-triggers.ts';
import { MIGRATIONS } from '#storage/migrations.ts';
import { raiseTo, resumeOf } from '../support/ledger-facts.ts';

function schema(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
  return db;
}

const QUERIES: readonly (readonly [string, string])[] = [
  ...Object.entries(ACTION_QUERIES),
  ['last runs', LAST_RUNS],
  ['stopped by', STOPPED_BY],
  ['whole slices', WHOLE_SLICES],
  ['part of a slice', PART_OF_SLICE],
  ['forgettable', FORGETTABLE],
  ['pending triggers', PENDING_TRIGGERS],
];

/** Tables that are small by design. */
const SHORT = /^(?:SCAN|SEARCH) (?:u|names|unsettled|json_each VIRTUAL TABLE .*|CONSTANT ROW)$/;

/**
 * Queries that end after a few rows: the newest actions in key order, backward; the lowest policy, which is the first.
 */
const ENDING: Readonly<Record<string, readonly string[]>> = {
  recent: ['SCAN i'],
  'last runs': ['SEARCH runs USING COVERING INDEX runs_policy'],
};

/** A search without a bound walks along an index until a row matches. */
const UNBOUND = /^SEARCH \w+(?: USING (?:COVERING )?INDEX \w+)?$/;

test.each(QUERIES)('%s uses an index', (name, sql) => {
  const plan = schema()
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row['detail']));
  expect(plan.length).toBeGreaterThan(0);
  const walks = plan.filter((step) => (step.startsWith('SCAN ') || UNBOUND.test(step)) && !SHORT.test(step));
  expect(walks, plan.join('\n')).toEqual(ENDING[name] ?? []);
  if (name === 'recent') expect(plan).not.toContain('USE TEMP B-TREE FOR ORDER BY');
});

test('a window reads whole slices and a part of one, whatever they contain', () => {
  const plan = (sql: string): string =>
    schema()
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row['detail']))
      .join('\n');
  expect(plan(WHOLE_SLICES)).toContain('SEARCH cap_slices USING PRIMARY KEY (slice>?)');
  expect(plan(PART_OF_SLICE)).toContain('SEARCH intents USING COVERING INDEX intents_caps (at>? AND at<?)');
});

test('actions of one slice, policy and type share a row, and a return reduces it', () => {
  const db = schema();
  const caps = createCaps(db);
  for (let n = 0; n < 100; n++) caps.take(resumeOf(`d${n}`, { items: 2 }), 7 * SLICE_MS + n);
  caps.take(raiseTo(120), 7 * SLICE_MS);
  caps.giveBack(resumeOf('d1', { items: 2 }), 7 * SLICE_MS + 1, 2);
  expect(db.prepare('SELECT slice, action, items FROM cap_slices ORDER BY action DESC').all()).toEqual([
    { slice: 7 * SLICE_MS, action: 'workflow-dlq.resume', items: 198 },
    { slice: 7 * SLICE_MS, action: 'budget.raise', items: 1 },
  ]);
  expect(caps.used({}, 0)).toBe(198);
});
