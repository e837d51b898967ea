/** Sentences of audit records: a literal one for every kind, and the groups of records. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AUDIT_KINDS, auditGroups, auditSentence, outcomesText, type AuditFields } from '#operate/show/audit.ts';
import { table } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import { shortTable } from '#operate/show/text.ts';

const textOf = (record: AuditFields): string =>
  shortTable(table({ caption: '', empty: '', rows: [record], columns: { What: auditSentence } }))[1]![0]!;
const pageOf = (record: AuditFields): string => html`${auditSentence(record)}`.toString().replaceAll(/<[^>]+>/g, '');

const run = { run: 7, policy: 'p', chosen: 1, mode: 'enforce' };
const plan = { policy: 'p', plan: '1a4d74', covers: 12 };
const SENTENCES: readonly (readonly [AuditFields, string])[] = [
  [
    { type: 'run.begun', ...run, trigger: 'schedule' },
    'Run 7 of p began on schedule: 1 action planned, in mode enforce',
  ],
  [
    { type: 'run.begun', ...run, trigger: 'alert', alert: 'Down' },
    'Run 7 of p began for the alert Down: 1 action planned, in mode enforce',
  ],
  [
    { type: 'run.begun', ...run, plan: 'ab12', trigger: 'hand', origin: 'manual', by: 'anna', reason: 'repaired' },
    'Run 7 of the manual plan ab12 began on request, applied by anna: 1 action planned, in mode enforce: repaired',
  ],
  [
    { type: 'run.finished', run: 7, policy: 'p', outcome: 'nothing_to_do', matched: 20, acted: 0, backlog: 2 },
    'Run 7 of p ended: nothing to do, 20 matched: 0 acted on, 2 left, 18 denied or without effect',
  ],
  [
    {
      type: 'run.finished',
      ...run,
      trigger: 'hand',
      by: 'anna',
      reason: 'test',
      outcome: 'nothing_to_do',
      matched: 0,
      acted: 0,
    },
    'Run 7 of p began on request, applied by anna, and ended: nothing to do, 0 matched: 0 acted on: test',
  ],
  [
    { type: 'intent', policy: 'p', action: 'workflow-dlq.resume', target: 'dlq-1', attempt: 2, step: 3 },
    'p sends workflow-dlq.resume for dlq-1, attempt 2, step 3 of its campaign',
  ],
  [
    { type: 'intent', policy: 'p', action: 'budget.raise', target: 'budget/400', fromUsd: 300, toUsd: 400 },
    'p sends budget.raise for budget/400, from $300 to $400',
  ],
  [
    { type: 'outcome', policy: 'p', target: 'dlq-1', outcome: 'failed_again', newRunId: 'wfr_2' },
    'The action of p on dlq-1: failed again, new run wfr_2',
  ],
  [
    { type: 'outcome', policy: 'p', target: 'prune/1/1', outcome: 'verified', done: 1_200 },
    'The action of p on prune/1/1: verified, 1,200 done',
  ],
  [{ type: 'plan.saved', ...plan, state: 'pending' }, 'p made the plan 1a4d74: 12 actions, pending approval'],
  [
    { type: 'plan.saved', ...plan, state: 'draft', by: 'anna', reason: 'try' },
    'anna made the plan 1a4d74 of p: 12 actions: try',
  ],
  [{ type: 'plan.decided', ...plan, state: 'approved', by: 'anna' }, 'anna approved the plan 1a4d74 of p: 12 actions'],
  [
    { type: 'plan.decided', policy: 'p', plan: '1', state: 'replaced', replacedBy: '2', by: 'engine' },
    'engine replaced the plan 1 of p by 2',
  ],
  [{ type: 'pause', scope: 'engine', by: 'anna', reason: 'odd' }, 'anna paused all policies: odd'],
  [
    { type: 'unpause', scopes: ['engine', 'policy/p', 'p/9f3c2a'], by: 'anna', reason: 'repaired' },
    'anna lifted the pause of all policies, policy p, p/9f3c2a: repaired',
  ],
  [
    {
      type: 'campaign',
      policy: 'p',
      from: 'settling',
      state: 'halted',
      step: 2,
      size: 3,
      judged: 3,
      verified: 1,
      reason: 'x',
    },
    'The campaign of p went from settling to halted: step 2, at most 3 entries, 1 of 3 verified: x',
  ],
  [
    { type: 'campaign', policy: 'p', state: 'ready', step: 1, size: 1, judged: 0, verified: 0 },
    'The campaign of p began, ready: step 1, at most 1 entry',
  ],
  [{ type: 'trigger', policy: 'p', key: 'a/1' }, 'A trigger of p is pending: a/1'],
  [{ type: 'trigger.ended', policy: 'p', count: 2, reason: 'ran' }, '2 triggers of p ended with a run'],
  [{ type: 'trigger.ended', key: 'a/1', count: 1, reason: 'resolved' }, '1 trigger ended: its alert is resolved'],
  [
    { type: 'operation.begun', operation: 'dlq.delete', by: 'anna', dlqIds: ['a', 'b'], keys: ['dlqIds'] },
    'anna sends the operation dlq.delete for a, b by dlqIds',
  ],
  [
    { type: 'operation.begun', operation: 'budget.set', by: 'anna', object: 'production' },
    'anna sends the operation budget.set for production',
  ],
  [
    { type: 'operation.ended', operation: 'budget.set', outcome: 'rejected', detail: 'HTTP 403' },
    'The operation budget.set ended: rejected, HTTP 403',
  ],
  [
    { type: 'incident.acknowledged', incident: '3f2a', by: 'anna', reason: 'vendor called' },
    'anna acknowledged the incident 3f2a: vendor called',
  ],
  [
    {
      type: 'incident.snoozed',
      incident: '3f2a',
      by: 'anna',
      until: Date.UTC(2026, 10, 27, 16),
      reason: 'ticket 4711',
    },
    'anna snoozed the incident 3f2a until 2026-11-27 16:00:00Z: ticket 4711',
  ],
  [
    { type: 'incident.snoozed', incident: '3f2a', by: 'anna', untilDeploy: true },
    'anna snoozed the incident 3f2a until a deploy',
  ],
  [
    { type: 'deploy', by: 'hook', version: 'v42', of: ['a.example', 'b.example'], failed: false },
    'hook reported the deploy of v42: a.example, b.example',
  ],
  [
    { type: 'deploy', by: 'anna', version: 'v41', of: ['a.example'], failed: true },
    'anna reported a roll-back to v41: a.example',
  ],
  [{ type: 'store.opened' }, 'The daemon opened its store'],
  [
    { type: 'store.pruned', intents: 1, runs: 2, plans: 0 },
    'The daemon deleted what is older than the retention: 1 action, 2 runs, 0 plans',
  ],
  [{ type: 'store.distrusted', reason: 'torn' }, 'The daemon does not trust its store: torn'],
  [{ type: 'store.adopted', by: 'anna', reason: 'compared' }, 'anna adopted the store: compared'],
  [
    { type: 'counter.reset', by: 'anna', metric: 'm_total', counters: 1, reason: 'wrong' },
    'anna reset 1 counter of m_total: wrong',
  ],
  [{ type: 'audit.not_committed', record: 3 }, 'The change of record 3 did not happen'],
  [{ type: 'audit.torn', bytes: 17 }, 'The daemon removed 17 bytes of an incomplete line'],
  [{ type: 'of.tomorrow', policy: 'p', store: 's', hash: 'x', sequence: 4, count: 1 }, 'of.tomorrow: policy=p count=1'],
  [{ type: 'constructor', a: 1 }, 'constructor: a=1'],
];

test.each(SENTENCES)('%j', (record, sentence) => {
  expect(textOf(record)).toBe(sentence);
  expect(pageOf(record)).toBe(sentence);
});

test('every kind that the daemon writes has a sentence, a test, and a place in the docs', () => {
  const folder = new URL('../../../src/storage/', import.meta.url);
  const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n');
  const ledger = readFileSync(new URL('../../../src/automate/ledger/audit-log.ts', import.meta.url), 'utf8');
  const written = [
    ...source.matchAll(/tell\(\{\s*type: '([^']+)'/g),
    ...ledger.matchAll(/^export const [A-Z_]+ = '([^']+)';/gm),
  ].map(([, kind]) => kind!);
  expect(written.length).toBeGreaterThan(15);
  expect(new Set(AUDIT_KINDS)).toEqual(new Set(written));
  const known = SENTENCES.map(([{ type }]) => type).filter((type) => AUDIT_KINDS.includes(type));
  expect(new Set(known)).toEqual(new Set(AUDIT_KINDS));
});

test('records of one plan are one group, whose head is the decision, with the outcome of each action', () => {
  const records = [
    { type: 'plan.saved', plan: 'a', sequence: 1 },
    { type: 'run.begun', run: 1, sequence: 2 },
    { type: 'plan.decided', plan: 'a', sequence: 3 },
    { type: 'run.begun', run: 2, plan: 'a', sequence: 4 },
    { type: 'run.finished', run: 1, sequence: 5 },
    { type: 'intent', run: 2, intent: 5, sequence: 6 },
    { type: 'outcome', intent: 5, outcome: 'accepted', sequence: 7 },
    { type: 'pause', sequence: 8 },
    { type: 'outcome', intent: 5, outcome: 'failed_again', sequence: 9 },
    { type: 'outcome', intent: 4, outcome: 'verified', sequence: 10 },
  ].toReversed();
  const groups = auditGroups(records);
  const sequences = groups.map(({ head, records: all }) => [head.sequence, all.map(({ sequence }) => sequence)]);
  expect(sequences).toEqual([
    [10, [10]],
    [3, [9, 7, 6, 4, 3, 1]],
    [8, [8]],
    [5, [5, 2]],
  ]);
  const outcomes = groups.map(({ records: all }) => outcomesText(all));
  expect(outcomes).toEqual(['1 verified', '1 failed again', undefined, undefined]);
});
