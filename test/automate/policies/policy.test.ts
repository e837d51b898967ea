import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { evaluate } from '#automate/policies/evaluate.ts';
import { policyOf } from '../../support/policies.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const MINUTE = 60_000;

const SELECT = { resource: 'workflow-dlq', anyLabel: ['billing'] };

function policy(over: Readonly<Record<string, unknown>> = {}) {
  return policyOf('workflow-dlq.resume', { name: 'resume-billing', select: SELECT, ...over });
}

function entry(over: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
  return {
    dlqId: 'dlq-1',
    workflowRunId: 'wfr-1',
    workflowUrl: 'https://app.example.com/invoice',
    createdAt: NOW - 60 * MINUTE,
    labels: ['billing'],
    responseStatus: 503,
    ...over,
  };
}

describe('a compiled policy', () => {
  test('of four lines is safe: audit, transient failures alone, finite limits, every five minutes', () => {
    const four = policy();
    expect(four).toMatchObject({
      name: 'resume-billing',
      account: 'main',
      source: 'policies/test.yaml:1',
      when: { every: 300_000 },
      mode: 'audit',
      windows: [],
      preconditions: [],
      where: { source: 'entry.cause == "transient"' },
      limits: {
        maxMatched: 10_000,
        onTrip: 'approve',
        maxPerRun: 500,
        maxPerHour: 4_000,
        maxPerDay: 10_000,
        minInterval: 0,
        attempts: { max: 3, backoff: [10 * MINUTE, 60 * MINUTE, 360 * MINUTE] },
        probationRuns: 0,
      },
      ramp: { groupBy: 'workflowUrl', start: 1, factor: 3, max: 500, settle: 5 * MINUTE },
      action: { flowControlIfAbsent: { key: 'opsd-resume-billing', parallelism: 2, rate: 5, period: 1 } },
    });
    for (const limit of [four.limits, four.limits.attempts, four.ramp].flatMap((limits) => Object.values(limits))) {
      if (typeof limit === 'number') expect(limit).toBeLessThan(Infinity);
    }
  });

  test('requests its selection in the terms of the service', () => {
    const full = policy({
      select: { ...SELECT, workflowUrl: ['https://a'], failedWithin: '2h', failedBefore: '5m' },
    });
    expect(full.filter(NOW)).toEqual({
      label: ['billing'],
      workflowUrl: ['https://a'],
      fromDate: NOW - 120 * MINUTE,
      toDate: NOW - 5 * MINUTE,
    });
    expect(policy({ select: { resource: 'workflow-dlq' } }).filter(NOW)).toEqual({});
  });

  test('keeps a cron expression with its zone', () => {
    expect(policy({ schedule: '*/10 * * * *' }).when).toEqual({ cron: '*/10 * * * *', timezone: 'UTC' });
    expect(policy({ every: '1m' }).when).toEqual({ every: MINUTE });
  });

  test('names itself and its place when its expression is wrong', () => {
    expect(() => policy({ where: 'entry.staus == 1' })).toThrow(
      'policies/test.yaml:1: policy resume-billing: where: entry has no field staus; did you mean status?',
    );
  });

  test('rejects a time window in which nothing can fail', () => {
    const select = { ...SELECT, failedWithin: '5m', failedBefore: '5m' };
    expect(() => policy({ select })).toThrow('must be shorter than failedWithin');
  });
});

const attempts = ({ dlqId }: WorkflowDlqEntry) => (dlqId === 'tried' ? 2 : 0);

describe('evaluation', () => {
  test('reports denied entries with the reason, and entries on which the expression failed', () => {
    const filter = { toDate: NOW - 5 * MINUTE };
    const list = [
      entry(),
      entry({ dlqId: 'late', createdAt: NOW }),
      entry({ dlqId: 'gone', responseStatus: 422 }),
      entry({ dlqId: 'tried' }),
      entry({ dlqId: 'odd', workflowRunId: 'no time' }),
    ];
    const timed = list.map((one) => (one.dlqId === 'odd' ? one : { ...one, workflowRunId: '2025-01-01T00:00:00Z' }));
    const where = 'timestamp(entry.workflowRunId) < entry.failedAt && entry.cause == "transient" && entry.attempts < 2';
    const result = evaluate(policy({ where }), timed, { filter, attempts }, NOW);
    expect(result.matched.map(({ dlqId }) => dlqId)).toEqual(['dlq-1']);
    expect(result.errors).toBe(1);
    expect(result.left).toEqual([
      { guard: 'select', reason: 'failed outside the selected time', dlqId: 'late' },
      { guard: 'where', reason: 'permanent 422', dlqId: 'gone' },
      { guard: 'where', reason: 'transient 503', dlqId: 'tried' },
      { guard: 'where', reason: 'the expression failed', dlqId: 'odd' },
    ]);
  });

  test('leaves the runs of canaries, except to a manual plan', () => {
    const own = entry({ dlqId: 'own', labels: ['billing', 'opsd-canary'] });
    const every = policy({ where: 'entry.dlqId != ""' });
    const { matched, left } = evaluate(every, [own], { filter: {}, attempts }, NOW);
    expect(matched).toEqual([]);
    expect(left).toEqual([{ guard: 'select', reason: 'message of a canary', dlqId: 'own' }]);
    const manual = { ...every, manual: {} as never };
    expect(evaluate(manual, [own], { filter: {}, attempts }, NOW).matched).toMatchObject([own]);
  });

  test('only ever narrows, and accounts for every entry', () => {
    const entries = fc.array(
      fc.record({
        dlqId: fc.uuid(),
        workflowRunId: fc.string(),
        workflowUrl: fc.string(),
        createdAt: fc.integer({ min: 0, max: 2 * NOW }),
        labels: fc.array(fc.string(), { maxLength: 300 }),
        responseStatus: fc.integer({ min: 100, max: 599 }),
        responseText: fc.string(),
      }),
    );
    const wheres = fc.constantFrom(
      'entry.cause == "transient"',
      'entry.labels.exists(l, l.contains("a"))',
      'has(entry.responseText) && entry.responseText.size() > 3',
      'entry.labels.size() / entry.attempts > 1',
    );
    fc.assert(
      fc.property(entries, wheres, (list, where) => {
        const { matched, left, errors } = evaluate(policy({ where }), list, { filter: {}, attempts }, NOW);
        expect(matched.length + left.length).toBe(list.length);
        expect(left.filter(({ reason }) => reason === 'the expression failed')).toHaveLength(errors);
        for (const entry of matched) expect(list).toContain(entry);
      }),
    );
  });
});
