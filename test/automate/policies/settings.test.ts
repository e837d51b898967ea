/** Keys of each of the five policies, their defaults, and that every accepted policy compiles. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '#config/load.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { ACTION_TYPES } from '#foundation/domain/plan.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import { isNarrower } from '#automate/policies/scope.ts';
import { engineSettings } from '#automate/policies/settings.ts';
import { policyOf, policySettingsOf } from '../../support/policies.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TOO_SMALL = /too_small|unrecognized_keys|must be at least/;

describe('defaults', () => {
  const tripwire = { maxMatched: 200, maxMatchedShare: 0.25, onTrip: 'abort' };
  const caps = { maxPerRun: 100, maxPerHour: 100, maxPerDay: 300, probationRuns: 3 };

  test('of a workflow delete', () => {
    expect(policyOf('workflow-dlq.delete')).toMatchObject({
      mode: 'audit',
      action: { type: 'workflow-dlq.delete', archive: { dir: '/tmp/archive', require: true }, grace: 72 * HOUR },
      limits: { ...tripwire, ...caps },
    });
  });

  test('of a delete by learned ids, and of a prune', () => {
    expect(policyOf('message-dlq.delete').limits).toMatchObject({ ...tripwire, maxPerHour: 100, probationRuns: 3 });
    expect(policyOf('message-dlq.prune').limits).toMatchObject(caps);
  });

  test('of a budget', () => {
    expect(policyOf('budget.raise')).toMatchObject({
      when: { every: 15 * MINUTE },
      action: { step: { percent: 20, roundUpTo: 10 }, ceilingUsd: 400, confirm: { readings: 2, apart: 15 * MINUTE } },
      limits: { minInterval: 12 * HOUR, maxPerMonth: 3, maxRaisePerMonthUsd: 150, maxPerRun: 1, probationRuns: 0 },
    });
  });

  test('of the engine', () => {
    expect(engineSettings.parse({})).toEqual({
      mode: 'enforce',
      protectedLabels: ['no-auto', 'legal-hold'],
      approvals: { expireAfter: 4 * HOUR },
      caps: { perHour: 5_000, perDay: 20_000, deletesPerDay: 1_000, spendUsdPerDay: 5 },
    });
  });
});

describe('selections', () => {
  test('of a prune are filters of the delete call', () => {
    const select = {
      anyLabel: ['a'],
      url: ['https://a'],
      topicName: ['t'],
      scheduleId: ['s'],
      queueName: ['q'],
      flowControlKey: ['f'],
      callerIp: ['192.0.2.1'],
      responseStatus: [404, 410],
      failedWithin: '30d',
    };
    expect(policyOf('message-dlq.prune', { select }).filter(NOW)).toEqual({
      toDate: NOW - 14 * DAY,
      fromDate: NOW - 30 * DAY,
      label: ['a'],
      url: ['https://a'],
      topicName: ['t'],
      scheduleId: ['s'],
      queueName: ['q'],
      flowControlKey: ['f'],
      callerIp: ['192.0.2.1'],
      responseStatus: [404, 410],
    });
    const all = policyOf('message-dlq.prune', { select: { anyLabel: undefined, everything: true } });
    expect(all.filter(NOW)).toEqual({ toDate: NOW - 14 * DAY });
  });

  test('of learned dead messages are compared with the callback', () => {
    const deadLetter: DeadLetter = {
      account: 'main',
      dlqId: 'dlq-1',
      messageId: 'msg-1',
      learnedAt: NOW - 2 * HOUR,
      labels: ['a'],
      url: 'https://a',
      status: 410,
    };
    const selects = (select: object, over: Partial<DeadLetter> = {}): boolean =>
      policyOf('message-dlq.delete', { select }).missed({ ...deadLetter, ...over }, NOW) === undefined;
    expect(selects({})).toBe(true);
    expect(selects({ anyLabel: ['b', 'a'], url: ['https://a'], responseStatus: [410] })).toBe(true);
    expect(selects({ anyLabel: ['b'] })).toBe(false);
    expect(selects({ url: ['https://b'] })).toBe(false);
    expect(selects({ responseStatus: [404] })).toBe(false);
    // A field that the callback lacks does not match.
    expect(selects({ topicName: ['t'] })).toBe(false);
    expect(selects({ scheduleId: ['s'] }, { scheduleId: 's' })).toBe(true);
    expect(selects({ failedBefore: '2h' })).toBe(true);
    expect(selects({ failedBefore: '3h' })).toBe(false);
    expect(selects({ failedWithin: '2h' })).toBe(true);
    expect(selects({ failedWithin: '1h' })).toBe(false);
  });
});

describe('triggers', () => {
  test.each([
    [{ every: '1m' }, { every: MINUTE }],
    [
      { schedule: '0 3 * * *', timezone: 'Europe/Berlin' },
      { cron: '0 3 * * *', timezone: 'Europe/Berlin' },
    ],
    [{ on: { alert: 'Down' } }, { alert: 'Down' }],
    [{ on: { failureCallback: true } }, { failureCallback: true }],
    [
      { on: { alert: 'Down' }, every: '1m' },
      { every: MINUTE, alert: 'Down' },
    ],
    [
      { on: { failureCallback: true }, schedule: '0 3 * * *' },
      { cron: '0 3 * * *', timezone: 'UTC', failureCallback: true },
    ],
    [{ on: { hand: true } }, { byHand: true }],
  ])('%o', (over, when) => {
    for (const type of ACTION_TYPES) expect(policyOf(type, over).when).toEqual(when);
  });
});

test('windows are days and minutes', () => {
  const windows = [{ days: 'sat,mon-tue', from: '22:00', to: '6:30', timezone: 'Europe/Berlin' }, {}];
  expect(policyOf('message-dlq.prune', { windows }).windows).toEqual([
    { days: [1, 2, 6], from: 1_320, to: 390, timezone: 'Europe/Berlin' },
    { days: [0, 1, 2, 3, 4, 5, 6], from: 0, to: 1_440, timezone: 'UTC' },
  ]);
});

test('flow control is sent unless it is switched off', () => {
  const own = { key: 'slow', parallelism: 1, rate: 10, period: '2m' };
  expect(policyOf('workflow-dlq.resume', { action: { flowControlIfAbsent: own } }).action).toEqual({
    type: 'workflow-dlq.resume',
    retries: 1,
    flowControlIfAbsent: { key: 'slow', parallelism: 1, rate: 10, period: 120 },
  });
  const off = policyOf('workflow-dlq.resume', { action: { flowControlIfAbsent: { enabled: false } } });
  expect(off.action).not.toHaveProperty('flowControlIfAbsent', expect.anything());
});

describe('zero is never unlimited', () => {
  const ZERO = { maxPerRun: 0, maxPerHour: 0, maxPerDay: 0, maxMatched: 0, maxMatchedShare: 0, minInterval: '0s' };

  test.each(ACTION_TYPES)('%s', (type) => {
    const limits = Object.keys(policyOf(type).limits).filter((key) => key in ZERO);
    expect(limits.length).toBeGreaterThan(3);
    for (const [key, value] of Object.entries(ZERO)) {
      expect(() => policySettingsOf(type, { limits: { [key]: value } }), key).toThrow(TOO_SMALL);
    }
  });

  test('nor anywhere else', () => {
    for (const over of [
      { limits: { attempts: { max: 0 } } },
      { limits: { attempts: { backoff: [] } } },
      { limits: { attempts: { backoff: ['0s'] } } },
      { ramp: { start: 0 } },
      { ramp: { factor: 0 } },
      { ramp: { max: 0 } },
      { action: { flowControlIfAbsent: { parallelism: 0 } } },
      { action: { flowControlIfAbsent: { rate: 0 } } },
    ]) {
      expect(() => policySettingsOf('workflow-dlq.resume', over), JSON.stringify(over)).toThrow(TOO_SMALL);
    }
    for (const type of ['workflow-dlq.delete', 'message-dlq.delete', 'message-dlq.prune'] as const) {
      expect(() => policySettingsOf(type, { limits: { probation: { runs: 0 } } })).toThrow(TOO_SMALL);
    }
    expect(() => policySettingsOf('workflow-dlq.delete', { action: { grace: '0s' } })).toThrow(TOO_SMALL);
    for (const caps of ['perHour', 'perDay', 'deletesPerDay', 'spendUsdPerDay']) {
      expect(() => engineSettings.parse({ caps: { [caps]: 0 } }), caps).toThrow(TOO_SMALL);
    }
  });
});

describe('amplification', () => {
  const tries = (max: number, retries?: number) => () =>
    policySettingsOf('workflow-dlq.resume', {
      limits: { attempts: { max } },
      action: retries === undefined ? {} : { retries },
    });

  test('is at most 20 tries of one run, and counts the default where the key is absent', () => {
    for (const allowed of [tries(10, 1), tries(20, 0), tries(10)]) expect(allowed).not.toThrow();
    for (const many of [tries(11, 1), tries(2, 10), tries(11)]) expect(many).toThrow('and the maximum is 20');
  });
});

describe('budgets', () => {
  test.each([0, 19, 10_001, 100.5, NaN, -5])('a ceiling of %s is none', (ceilingUsd) => {
    expect(() => policySettingsOf('budget.raise', { action: { ceilingUsd } })).toThrow('expected 20 to 10000');
  });

  test('a step is percent or dollars', () => {
    const step = (of: object) => () => policySettingsOf('budget.raise', { action: { step: of } });
    expect(step({ percent: undefined, usd: 50 })).not.toThrow();
    expect(step({ usd: 50 })).toThrow('exclude each other');
    expect(step({ percent: undefined })).toThrow('add percent or usd');
    expect(step({ percent: 0 })).toThrow(TOO_SMALL);
  });
});

test('every accepted policy compiles, is finite, and does not widen itself', () => {
  const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
  const text = fc.constantFrom('a', 'b,c', '', 'x y');
  const duration = fc.constantFrom('0s', '30s', '5m', '2h', '14d', '1', 7);
  const number = fc.constantFrom(0, 1, 3, 50, 500, 1e7, 0.5, NaN);
  const policy = fc.record({
    name: fc.constantFrom('one', 'Two', 'three-3'),
    account: fc.constantFrom('main', 'other'),
    mode: maybe(fc.constantFrom('audit', 'enforce', 'never')),
    every: maybe(duration),
    schedule: maybe(fc.constantFrom('0 3 * * *', '* *')),
    on: maybe(fc.constantFrom({ alert: 'Down' }, { hand: true }, { failureCallback: true, hand: true }, {})),
    windows: maybe(fc.constantFrom([{}], [{ days: 'sat', from: '22:00', to: '2:00' }], [{ days: 'someday' }])),
    preconditions: maybe(fc.constantFrom([{ name: 'a', expr: '!alertFiring("x")' }], [{ name: 'a', expr: '1 < 2' }])),
    select: fc.record(
      {
        resource: fc.constantFrom('workflow-dlq', 'message-dlq', 'account-budget'),
        anyLabel: maybe(fc.array(text, { maxLength: 2 })),
        url: maybe(fc.constant(['https://a'])),
        failedBefore: maybe(duration),
        failedWithin: maybe(duration),
        everything: maybe(fc.boolean()),
      },
      { requiredKeys: ['resource'] },
    ),
    where: maybe(
      fc.constantFrom(
        'entry.cause == "transient"',
        'spend.hoursLeft < 24.0',
        're(entry.reason, "h(")',
        'entry.workflowUrl != ""',
        'glob(entry.cause, "p*")',
      ),
    ),
    action: fc.record({
      type: fc.constantFrom(...ACTION_TYPES),
      retries: maybe(number),
      grace: maybe(duration),
      archive: maybe(fc.constant({ dir: 'archive' })),
      step: maybe(fc.constantFrom({ percent: 20 }, { usd: 5 }, {})),
      ceilingUsd: maybe(fc.constantFrom(10, 400)),
    }),
    limits: maybe(
      fc.record({
        maxPerRun: maybe(number),
        maxPerDay: maybe(number),
        minInterval: maybe(duration),
        attempts: maybe(fc.record({ max: number })),
        probation: maybe(fc.record({ runs: number })),
      }),
    ),
    ramp: maybe(fc.record({ start: maybe(number), max: maybe(number) })),
  });
  // Most are of one kind, so that enough of them are valid.
  const spoilt = fc.subarray([
    'mode',
    'every',
    'schedule',
    'on',
    'windows',
    'preconditions',
    'limits',
    'ramp',
  ] as const);
  const aimed = fc.tuple(policy, spoilt, fc.constantFrom(...ACTION_TYPES)).map(([any, keys, type]) => ({
    name: 'one',
    account: 'main',
    every: '1h',
    ...GOOD[type],
    ...Object.fromEntries(keys.slice(0, 2).map((key) => [key, any[key]])),
  }));
  let accepted = 0;
  fc.assert(
    fc.property(fc.oneof(policy, { arbitrary: aimed, weight: 3 }), (one) => {
      const config = {
        accounts: [{ name: 'main', url: 'embedded', budget: { knownUsd: 100, assertedOn: '2026-11-01' } }],
        policies: [one],
      };
      const text = JSON.stringify(config);
      const result = parseConfig(text, { file: 'opsd.yaml', baseDir: '/etc/opsd', env: {} });
      if (!result.ok) {
        expect(result.problems).not.toEqual([]);
        for (const problem of result.problems) {
          expect(problem.message).not.toMatch(/union|^invalid input$/i);
          expect(problem.line).toBe(1);
          expect(problem.column, JSON.stringify(problem)).toBeGreaterThan(1);
        }
        return;
      }
      accepted++;
      const { settings, source } = result.config.policies[0]!;
      const compiled = compilePolicy(settings, source);
      expect(compiled.action.type).toBe(settings.action.type);
      for (const limit of Object.values(compiled.limits)) {
        if (typeof limit === 'number') expect(Number.isFinite(limit)).toBe(true);
      }
      expect(isNarrower(compiled.scope, compiled.scope)).toBe(true);
      expect(JSON.parse(JSON.stringify(compiled.scope))).toEqual(compiled.scope);
      if ('filter' in compiled) {
        for (const values of Object.values(compiled.filter(NOW))) expect(values).not.toEqual([]);
      }
      if (compiled.action.type === 'message-dlq.prune') {
        expect((compiled as ReturnType<typeof policyOf<'message-dlq.prune'>>).filter(NOW).toDate).toBeLessThan(NOW);
      }
    }),
    { numRuns: 300 },
  );
  expect(accepted).toBeGreaterThan(20);
});

/** One valid policy of each kind, as written. */
const GOOD = {
  'workflow-dlq.resume': { select: { resource: 'workflow-dlq' }, action: { type: 'workflow-dlq.resume' } },
  'workflow-dlq.delete': {
    select: { resource: 'workflow-dlq' },
    where: 'entry.cause == "permanent"',
    action: { type: 'workflow-dlq.delete', archive: { dir: 'archive' } },
  },
  'message-dlq.republish': { select: { resource: 'message-dlq' }, action: { type: 'message-dlq.republish' } },
  'message-dlq.delete': {
    select: { resource: 'message-dlq' },
    where: 'entry.cause == "permanent"',
    action: { type: 'message-dlq.delete' },
  },
  'message-dlq.prune': {
    select: { resource: 'message-dlq', failedBefore: '1h', everything: true },
    action: { type: 'message-dlq.prune' },
  },
  'budget.raise': {
    select: { resource: 'account-budget' },
    where: 'spend.hoursLeft < 24.0',
    action: { type: 'budget.raise', step: { usd: 50 }, ceilingUsd: 400 },
  },
} as const;
