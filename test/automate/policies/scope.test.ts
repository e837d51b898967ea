import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { ACTION_TYPES, type ActionType } from '#foundation/domain/plan.ts';
import { isNarrower } from '#automate/policies/scope.ts';
import { policyOf } from '../../support/policies.ts';

type Mapping = Readonly<Record<string, unknown>>;

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

function scope(type: ActionType, over: Mapping = {}): Mapping {
  return policyOf(type, over).scope;
}

/** Edits that narrow a policy. The reverse edits widen it. */
const NARROWING: readonly (readonly [what: string, type: ActionType, before: Mapping, after: Mapping])[] = [
  ['a lower maxMatched', 'workflow-dlq.delete', { limits: { maxMatched: 200 } }, { limits: { maxMatched: 100 } }],
  ['a lower share', 'workflow-dlq.delete', {}, { limits: { maxMatchedShare: 0.1 } }],
  ['fewer a run', 'message-dlq.prune', { limits: { maxPerRun: 10 } }, { limits: { maxPerRun: 9 } }],
  ['fewer an hour', 'message-dlq.prune', {}, { limits: { maxPerHour: 99 } }],
  ['fewer a day', 'message-dlq.delete', {}, { limits: { maxPerDay: 299 } }],
  ['a longer pause', 'workflow-dlq.delete', { limits: { minInterval: '1m' } }, { limits: { minInterval: '2m' } }],
  ['a pause', 'workflow-dlq.delete', {}, { limits: { minInterval: '1s' } }],
  [
    'none in place of an approval',
    'workflow-dlq.delete',
    { limits: { onTrip: 'approve' } },
    { limits: { onTrip: 'abort' } },
  ],
  ['a longer grace', 'workflow-dlq.delete', {}, { action: { grace: '73h' } }],
  ['an archive that must work', 'workflow-dlq.delete', { action: { archive: { require: false } } }, {}],
  ['a longer probation', 'message-dlq.prune', {}, { limits: { probation: { runs: 4 } } }],
  ['an older bound', 'message-dlq.prune', {}, { select: { failedBefore: '15d' } }],
  ['an older bound at all', 'workflow-dlq.delete', {}, { select: { failedBefore: '1m' } }],
  [
    'a shorter look back',
    'workflow-dlq.delete',
    { select: { failedWithin: '2h' } },
    { select: { failedWithin: '1h' } },
  ],
  ['a look back at all', 'workflow-dlq.delete', {}, { select: { failedWithin: '30d' } }],
  ['a filter more', 'workflow-dlq.delete', {}, { select: { anyLabel: ['a'] } }],
  ['a value less', 'message-dlq.prune', { select: { url: ['a', 'b'] } }, { select: { url: ['b'] } }],
  [
    'a status less',
    'message-dlq.prune',
    { select: { responseStatus: [404, 410] } },
    { select: { responseStatus: [404] } },
  ],
  [
    'a filter in place of everything',
    'message-dlq.prune',
    { select: { anyLabel: undefined, everything: true } },
    { select: { anyLabel: ['a'] } },
  ],
  [
    'a state of the failure function, for deletes',
    'workflow-dlq.delete',
    {},
    { select: { failureFunctionState: ['CALLBACK_FAIL'] } },
  ],
  ['a window', 'workflow-dlq.delete', {}, { windows: [{ days: 'mon-fri' }] }],
  [
    'a window less',
    'workflow-dlq.delete',
    { windows: [{ days: 'mon-fri' }, { days: 'sat', to: '10:00' }] },
    { windows: [{ days: 'mon-fri' }] },
  ],
  ['a precondition', 'workflow-dlq.delete', {}, { preconditions: [{ name: 'a', expr: 'dlqMessages() > 5' }] }],
  ['fewer attempts', 'workflow-dlq.resume', {}, { limits: { attempts: { max: 2 } } }],
  ['longer waits', 'workflow-dlq.resume', {}, { limits: { attempts: { backoff: ['11m', '1h', '6h'] } } }],
  ['a slower ramp', 'workflow-dlq.resume', {}, { ramp: { factor: 2 } }],
  ['fewer retries', 'workflow-dlq.resume', { action: { retries: 2 } }, { action: { retries: 1 } }],
  ['less at a time', 'workflow-dlq.resume', {}, { action: { flowControlIfAbsent: { parallelism: 1 } } }],
  ['flow control', 'workflow-dlq.resume', { action: { flowControlIfAbsent: { enabled: false } } }, {}],
  ['a lower ceiling', 'budget.raise', {}, { action: { ceilingUsd: 399 } }],
  ['a smaller step', 'budget.raise', {}, { action: { step: { percent: 19 } } }],
  ['a raise less', 'budget.raise', {}, { limits: { maxPerMonth: 2 } }],
  ['another reading', 'budget.raise', {}, { action: { confirm: { readings: 3 } } }],
];

/** Undecidable edits count as wider, both ways. */
const UNTOLD: readonly (readonly [what: string, type: ActionType, over: Mapping])[] = [
  ['another expression', 'workflow-dlq.delete', { where: 'entry.cause == "permanent" && entry.attempts > 1' }],
  ['another account', 'workflow-dlq.delete', { account: 'other' }],
  [
    'a state of the failure function, which a resume skips otherwise',
    'workflow-dlq.resume',
    { select: { failureFunctionState: ['CALLBACK_SUCCESS'] } },
  ],
  ['another group', 'workflow-dlq.resume', { ramp: { groupBy: 'destination' } }],
  ['another number of waits', 'workflow-dlq.resume', { limits: { attempts: { backoff: ['10m', '1h'] } } }],
  ['another grid of dollars', 'budget.raise', { action: { step: { roundUpTo: 7 } } }],
  ['other windows', 'workflow-dlq.delete', { windows: [{ days: 'sat' }] }],
];

describe('an edit', () => {
  test.each(NARROWING)('%s: %s', (_what, type, before, after) => {
    expect(isNarrower(scope(type, before), scope(type, after))).toBe(true);
    expect(isNarrower(scope(type, after), scope(type, before))).toBe(false);
  });

  test.each(UNTOLD)('%s: %s', (what, type, over) => {
    const before = what === 'other windows' ? { windows: [{ days: 'sun' }] } : {};
    expect(isNarrower(scope(type, before), scope(type, over))).toBe(false);
    expect(isNarrower(scope(type, over), scope(type, before))).toBe(false);
  });

  test.each(ACTION_TYPES)('of nothing is not widening: %s', (type) => {
    expect(isNarrower(scope(type), scope(type))).toBe(true);
    // Kept scopes are read back as JSON.
    expect(isNarrower(JSON.parse(JSON.stringify(scope(type))) as Mapping, scope(type))).toBe(true);
  });

  test('of parts that do not widen: names, owners, modes, times of runs', () => {
    const renamed = { description: 'x', owner: 'team', mode: 'enforce', schedule: '0 3 * * *' };
    expect(isNarrower(scope('message-dlq.prune'), scope('message-dlq.prune', renamed))).toBe(true);
  });

  test('of the action itself widens', () => {
    for (const before of ACTION_TYPES) {
      for (const after of ACTION_TYPES) {
        expect(isNarrower(scope(before), scope(after))).toBe(before === after);
      }
    }
  });
});

test('an unreadable scope is not narrower', () => {
  const good = scope('workflow-dlq.delete');
  for (const strange of [
    {},
    { ...good, atMost: null },
    { ...good, more: {} },
    { ...good, among: { windows: 'all' } },
  ]) {
    expect(isNarrower(strange, good)).toBe(false);
    expect(isNarrower(good, strange)).toBe(false);
  }
  expect(isNarrower(good, { ...good, atMost: { ...(good['atMost'] as Mapping), maxPerRun: NaN } })).toBe(false);
});

describe('properties', () => {
  const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });
  const hours = fc.integer({ min: 1, max: 9 });
  const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
  const settings = fc.record({
    anyLabel: maybe(values),
    url: maybe(values),
    topicName: maybe(values),
    failedWithin: maybe(hours.map((count) => `${count + 9}h`)),
    failedBefore: maybe(hours.map((count) => `${count}h`)),
    maxPerRun: fc.integer({ min: 1, max: 4 }),
    maxMatched: fc.integer({ min: 1, max: 4 }),
  });
  type Settings = typeof settings extends fc.Arbitrary<infer T> ? T : never;
  type P = ReturnType<typeof compiled>;
  const edit = fc
    .record({
      other: settings,
      keys: fc.subarray(['anyLabel', 'url', 'failedWithin', 'failedBefore', 'maxPerRun'] as const),
    })
    .map(({ other, keys }) => Object.fromEntries(keys.slice(0, 2).map((key) => [key, other[key]])));
  const compiled = ({ maxPerRun, maxMatched, ...select }: Settings) =>
    policyOf('message-dlq.delete', {
      select: Object.fromEntries(Object.entries(select).filter(([, value]) => value !== undefined)),
      limits: { maxPerRun, maxMatched },
    });
  const deadLetter = fc
    .record({
      labels: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }),
      url: fc.constantFrom('a', 'b', 'c', 'd'),
      topicName: fc.constantFrom('a', 'b', 'c', 'd'),
      age: fc.integer({ min: 0, max: 40 }),
    })
    .map(({ age, ...of }): DeadLetter => ({
      account: 'main',
      dlqId: 'dlq-1',
      messageId: 'msg-1',
      learnedAt: NOW - (age * HOUR) / 2,
      ...of,
    }));

  test("the selection of a narrower policy is part of the wider one's, and no limit is higher", () => {
    let narrower = 0;
    fc.assert(
      fc.property(
        settings,
        edit,
        fc.array(deadLetter, { minLength: 20, maxLength: 40 }),
        (base, changed, deadLetters) => {
          const [before, after] = [compiled(base), compiled({ ...base, ...changed })];
          if (!isNarrower(before.scope, after.scope)) return;
          narrower++;
          for (const one of deadLetters)
            if (after.missed(one, NOW) === undefined) expect(before.missed(one, NOW)).toBeUndefined();
          expect(after.limits.maxPerRun).toBeLessThanOrEqual(before.limits.maxPerRun);
          expect(after.limits.maxMatched).toBeLessThanOrEqual(before.limits.maxMatched);
        },
      ),
      { numRuns: 700 },
    );
    expect(narrower).toBeGreaterThan(100);
  });

  test('is an order: transitive, and mutual only between equals', () => {
    fc.assert(
      fc.property(settings, edit, edit, (base, first, second) => {
        const [a, b, c] = [base, { ...base, ...first }, { ...base, ...first, ...second }].map(compiled) as [P, P, P];
        if (isNarrower(a.scope, b.scope) && isNarrower(b.scope, c.scope)) {
          expect(isNarrower(a.scope, c.scope)).toBe(true);
        }
        if (isNarrower(a.scope, b.scope) && isNarrower(b.scope, a.scope)) {
          expect(sorted(a.scope)).toEqual(sorted(b.scope));
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Values of one filter have no order. */
function sorted(scope: Mapping): unknown {
  return JSON.parse(
    JSON.stringify(scope, (_key, value: unknown) => (Array.isArray(value) ? value.map(String).toSorted() : value)),
  );
}
