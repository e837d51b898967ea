/** A store of the previous schema keeps its content, under the present names. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '#storage/migrations.ts';
import { SCHEMA } from '#storage/schema.ts';
import { openStore } from '#storage/sqlite.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { tempDir } from '../support/temp-dir.ts';

const BEFORE = 8;

/**
 * Creates a store of the previous schema, with the rows that `sql` inserts.
 *
 * @returns its path
 */
function storeOf(sql: string): string {
  const path = join(tempDir(), 'opsd.db');
  using store = openStore(path, MIGRATIONS.slice(0, BEFORE));
  store.db.exec(sql);
  return path;
}

test('outcomes and items of actions are renamed', () => {
  const outcomes = ['acked', 'came_back', 'undecidable', 'resolved_done', 'resolved_not_done', 'verified'];
  const proposal = JSON.stringify({ action: 'message-dlq.prune', target: 'prune/1/1', worth: 7, group: '"worth":' });
  const path = storeOf(
    `INSERT INTO runs (id, policy, account, plan_id, at, cause) VALUES (1, 'p', 'a', 'x', 1, '"hand"');
    ${outcomes
      .map(
        (
          outcome,
          n,
        ) => `INSERT INTO intents (run_id, at, epoch, policy, account, action, target, group_name, worth, proposal)
          VALUES (1, ${n}, 1, 'p', 'a', 'message-dlq.prune', 't${n}', '', 7, '${proposal}');
        INSERT INTO outcomes (intent_id, at, outcome) VALUES (${n + 1}, 1, '${outcome}');`,
      )
      .join('\n')}`,
  );
  using store = openStore(path);
  const stored = store.db.prepare('SELECT outcome FROM outcomes ORDER BY id').all();
  expect(stored.map(({ outcome }) => outcome)).toEqual([
    'accepted',
    'failed_again',
    'unresolvable',
    'confirmed_applied',
    'confirmed_not_applied',
    'verified',
  ]);
  const intent = store.db.prepare('SELECT proposal FROM intents').get();
  expect(JSON.parse(String(intent?.['proposal']))).toMatchObject({ items: 7, group: '"worth":' });
  expect(store.db.prepare('SELECT sum(items) AS items FROM intents').get()).toEqual({ items: 42 });
});

test('outcomes of runs and states of plans are renamed', () => {
  const runs = [
    ['nothing', 'left out: 2 protected', 'nothing_to_do'],
    ['error', 'disk full', 'failed'],
    ['waiting', 'approval: 9 of 10', 'pending_approval'],
    ['waiting', 'min_interval: until 10:58', 'deferred'],
    ['held', 'caps: full', 'held'],
  ];
  const plans = [
    ['shown', 'draft'],
    ['waiting', 'pending'],
    ['used', 'applied'],
    ['rejected', 'rejected'],
  ];
  const path = storeOf(
    [
      ...runs.map(
        ([outcome, detail]) => `INSERT INTO runs (policy, account, plan_id, at, cause, outcome, detail)
          VALUES ('p', 'a', 'x', 1, '"hand"', '${outcome}', '${detail}');`,
      ),
      `UPDATE runs SET stopped_by = 'caps' WHERE outcome = 'held'; UPDATE runs SET stopped_by = 'sanity' WHERE id = 1;`,
      ...plans.map(
        ([state], n) => `INSERT INTO plans (hash, id, state, saved_at, expires_at, plan, targets)
          VALUES ('${n}', '${n}', '${state}', 1, 2, '{"worth":1}', '[]');`,
      ),
    ].join('\n'),
  );
  using store = openStore(path);
  expect(store.db.prepare('SELECT outcome FROM runs ORDER BY id').all()).toEqual(
    runs.map(([, , outcome]) => ({ outcome })),
  );
  expect(store.db.prepare('SELECT stopped_by FROM runs WHERE stopped_by NOT NULL ORDER BY id').all()).toEqual([
    { stopped_by: 'implausible_data' },
    { stopped_by: 'caps' },
  ]);
  expect(store.db.prepare('SELECT state, plan FROM plans ORDER BY hash').all()).toEqual(
    plans.map(([, state]) => ({ state, plan: '{"items":1}' })),
  );
});

test('kept notifications are read from their renamed tables', async () => {
  const kept = `'{"notice":{"key":"k","severity":"info"},"startedAt":1}'`;
  const path = storeOf(
    `INSERT INTO notices VALUES ('k', ${kept}); INSERT INTO notice_queue VALUES (1, 'webhook', ${kept});`,
  );
  using store = openStore(path);
  const notification = { notification: { key: 'k' } };
  expect(await createNotificationStore(store).load()).toMatchObject({
    notifications: [notification],
    queue: [{ id: '1', receiver: 'webhook', kept: notification }],
  });
});

test('incidents and canaries get the account of their record', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path, MIGRATIONS.slice(0, 12));
    store.db.exec(`INSERT INTO incidents VALUES ('i', '{"id":"i","account":"a"}');
      INSERT INTO canary_rounds VALUES ('r', '{"id":"r","account":"b"}');`);
  }
  using store = openStore(path);
  const scope = { accounts: ['a', 'b'], replica: '' };
  expect(await createIncidentStore(store, scope).load()).toEqual([{ id: 'i', account: 'a' }]);
  expect((await createCanaryStore(store, scope).load()).rounds).toEqual([{ id: 'r', account: 'b' }]);
});

test('counters and the entry mode of the log are renamed', () => {
  const counters = [
    [
      'msgsvc_workflow_dlq_left_runs_total',
      '["w","elsewhere"]',
      'msgsvc_workflow_dlq_left_runs_total',
      '["w","other"]',
    ],
    ['opsd_logs_given_up_messages_total', '[]', 'opsd_messages_abandoned_total', '[]'],
    ['opsd_logs_late_entries_total', '[]', 'opsd_log_late_entries_total', '[]'],
    ['opsd_logs_refused_entries_total', '[]', 'opsd_log_invalid_entries_total', '[]'],
    ['opsd_spans_exported_total', '[]', 'opsd_spans_exported_total', '[]'],
  ];
  const path = storeOf(
    [
      `INSERT INTO log_fold (account, watermark, kept_from, form) VALUES ('a', 1, 1, 'present');`,
      ...counters.map(([metric, labels]) => `INSERT INTO counters VALUES ('a', '${metric}', '${labels}', 1);`),
    ].join('\n'),
  );
  using store = openStore(path);
  expect(store.db.prepare('SELECT metric, labels FROM counters ORDER BY metric').all()).toEqual(
    counters.map(([, , metric, labels]) => ({ metric, labels })).toSorted((a, b) => (a.metric! < b.metric! ? -1 : 1)),
  );
  expect(store.db.prepare('SELECT entry_mode FROM log_aggregation').all()).toEqual([{ entry_mode: 'snapshot' }]);
});

test('a new store has the schema that all migrations make', () => {
  const schemaOf = (...steps: readonly string[]) => {
    using db = new DatabaseSync(':memory:');
    for (const step of steps) db.exec(step);
    const rows = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
    // The text of a renamed table has quotes, and added columns stay on the last line.
    return rows.map(
      ({ type, name, sql }) => `${String(type)} ${String(name)}: ${String(sql).replaceAll(/[\s"]/g, '')}`,
    );
  };
  expect(schemaOf(SCHEMA)).toEqual(schemaOf(...MIGRATIONS));
});
