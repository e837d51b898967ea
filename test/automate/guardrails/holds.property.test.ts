import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holdText, isoTime, TRENDS, type Hold } from '#foundation/domain/hold.ts';
import { ACTION_TYPES, denialBy, POLICY_MODES } from '#foundation/domain/plan.ts';
import { begin } from '#automate/guardrails/campaign.ts';
import type { Guard } from '#automate/guardrails/guard.ts';
import { GUARDS } from '#automate/guardrails/index.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const HOUR = 3_600_000;

/** Numbers that facts may have, including wrong ones. */
const amount = fc.oneof(fc.nat({ max: 400 }), fc.constantFrom(0, 1, 20, 25, 100, Number.NaN));
const recently = fc.integer({ min: NOW - 30 * HOUR, max: NOW + HOUR });
const reason = fc.constantFrom('odd', 'the disk is full');
const action = fc.constantFrom(...ACTION_TYPES);
const maybe = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });
/** Record whose values of undefined are absent. */
const facts = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(fields).map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

const campaign = fc.record({
  ...Object.fromEntries(
    Object.entries(
      begin(
        { id: 'p/1', policy: 'p', account: 'a', group: 'g' },
        { now: NOW, ramp: { start: 1, factor: 3, max: 500, settle: 1 } },
      ),
    ).map(([key, value]) => [key, fc.constant<unknown>(value)]),
  ),
  state: fc.constantFrom('ready', 'settling', 'halted', 'audit', 'ended'),
  until: recently,
  recent: fc.array(fc.boolean(), { maxLength: 50 }),
  judged: fc.integer({ min: 50, max: 200 }),
  verified: fc.integer({ min: 25, max: 200 }),
});
const percent = fc.integer({ min: 0, max: 100 });
const deliveries = fc
  .tuple(fc.nat({ max: 300 }), fc.nat({ max: 300 }), fc.boolean(), fc.tuple(percent, percent))
  .map(([delivered, failed, isPartial, [good, bad]]) => {
    const newer = [(delivered * good) / 100, (failed * bad) / 100].map(Math.floor) as [number, number];
    return { delivered, all: delivered + failed, isPartial, newer: { delivered: newer[0], all: newer[0] + newer[1] } };
  });
const usd = fc.double({ min: 0, max: 500, noNaN: true });

const FACTS: Readonly<Record<Exclude<Guard['stage'], 'entry'>, fc.Arbitrary<object>>> = {
  run: facts({
    paused: maybe(facts({ reason, remedy: reason, since: maybe(recently) })),
    leaseLost: maybe(reason),
    clockSkewMs: maybe(fc.integer({ min: -100_000, max: 100_000 })),
    opensAt: maybe(fc.oneof(recently, fc.constant(Infinity))),
    unmet: fc.array(fc.record({ name: reason, verdict: fc.constantFrom('no', 'error') }), { maxLength: 2 }),
    lastIntentAt: maybe(recently),
    minInterval: fc.constantFrom(0, HOUR),
    lastUnknownAt: maybe(recently),
    now: fc.constant(NOW),
  }),
  read: facts({
    complete: fc.boolean(),
    problem: maybe(reason),
    entries: fc.array(fc.record({ dlqId: fc.constantFrom('', 'd1'), createdAt: amount, labels: fc.constant([]) }), {
      maxLength: 2,
    }),
    dropped: fc.nat({ max: 2 }),
    filter: facts({ label: maybe(fc.constant(['x'])) }),
    clockSkewMs: maybe(fc.integer({ min: -100_000, max: 100_000 })),
    now: fc.constant(NOW),
  }),
  evaluated: facts({ entries: fc.nat({ max: 30 }), errors: fc.nat({ max: 30 }) }),
  account: facts({
    action,
    refusedAt: maybe(recently),
    recentArrivals: facts({
      all: fc.nat({ max: 30 }),
      quota: fc.nat({ max: 30 }),
      newer: maybe(fc.record({ all: fc.nat({ max: 15 }), quota: fc.nat({ max: 15 }) })),
    }),
    now: fc.constant(NOW),
  }),
  matched: facts({
    action,
    allowed: amount,
    maxMatched: fc.constantFrom(10, 200),
    maxMatchedShare: fc.constant(0.25),
    onTrip: fc.constantFrom('approve', 'abort'),
    population: maybe(amount),
    isApproved: fc.boolean(),
  }),
  group: facts({
    action,
    group: fc.constant('https://billing.example/wf'),
    destination: maybe(fc.constant('billing.example')),
    matched: fc.integer({ min: 1, max: 50 }),
    deliveries: maybe(deliveries),
    arrivals: facts({ last10m: amount, last5m: maybe(fc.nat({ max: 400 })), baseline10m: amount }),
    campaign: maybe(campaign),
    now: fc.constant(NOW),
  }),
  budget: facts({
    spend: facts({
      monthUsd: maybe(usd),
      last24hUsd: maybe(usd),
      dayBeforeUsd: maybe(usd),
      medianDayUsd: maybe(usd),
      hoursLeft: maybe(usd),
      fresh: fc.boolean(),
      messagesLastDay: maybe(amount),
      ownMessagesLastDay: maybe(amount),
    }),
    known: maybe(fc.record({ knownUsd: usd, assertedAt: recently, maxAgeMs: fc.constant(HOUR) })),
    toUsd: maybe(usd),
    doubt: maybe(fc.record({ verdict: fc.constantFrom('hold', 'approve'), reason })),
    unconfirmed: maybe(fc.constant({ readings: 1, needed: 2, apart: '15m', windowMs: HOUR / 4, until: NOW + HOUR })),
    isApproved: fc.boolean(),
    ceilingUsd: usd,
    monthEndsAt: fc.constant(NOW + HOUR),
    raisesThisMonth: fc.nat({ max: 5 }),
    raisedThisMonthUsd: usd,
    maxPerMonth: maybe(fc.constant(3)),
    maxRaisePerMonthUsd: maybe(fc.constant(150)),
    now: fc.constant(NOW),
  }),
  plan: facts({
    matched: fc.nat({ max: 50 }),
    maxPerRun: fc.integer({ min: 1, max: 20 }),
    caps: fc.array(
      facts({
        scope: reason,
        window: fc.constantFrom('hour', 'day'),
        used: amount,
        limit: amount,
        why: maybe(reason),
        until: maybe(recently),
        trend: maybe(fc.constantFrom(...TRENDS)),
      }),
      { maxLength: 2 },
    ),
  }),
  act: facts({
    mode: fc.constantFrom(...POLICY_MODES),
    reducedBy: maybe(reason),
    isApproved: fc.boolean(),
    needsApproval: maybe(reason),
    probationLeft: fc.nat({ max: 3 }),
  }),
  answer: facts({ asked: amount, done: amount }),
  outcome: facts({ planned: amount, acted: amount, skipped: amount, failed: amount, unknown: amount, left: amount }),
};

/** Objection of a guard, whatever its stage returns. `isHeld`: the guard allows nothing. */
function objectionOf(guard: Guard, given: object): { readonly isHeld: boolean; readonly hold?: Hold } {
  const found = (guard.check as (given: object) => object | undefined)(given);
  if (found === undefined) return { isHeld: false };
  if ('allowed' in found) {
    const { allowed, hold } = found as { readonly allowed: number; readonly hold?: Hold };
    const wanted = (given as { readonly matched: number }).matched;
    return { isHeld: allowed === 0 && wanted > 0, ...(hold !== undefined && { hold }) };
  }
  return { isHeld: true, hold: 'hold' in found ? (found.hold as Hold) : (found as Hold) };
}

/** Guards whose measured value has a past, as docs/guards.md lists them, and guards whose end is known. */
const GUIDE = join(import.meta.dirname, '../../../docs/guards.md');
const [, withTrend = ''] = /A trend is known for ([^.]+)\./.exec(readFileSync(GUIDE, 'utf8')) ?? [];
const WITH_TREND = new Set([...withTrend.matchAll(/`(\w+)`/g)].map(([, name]) => name));
const WITH_END = new Set([
  'window',
  'min_interval',
  'cool_down',
  'quota',
  'ramp',
  'confirmation',
  'raise_limits',
  'caps',
]);

const HOLDING = GUARDS.filter(({ stage }) => stage !== 'entry');

test.each(HOLDING.map((guard) => [guard.name, guard] as const))(
  '%s: every objection has a measured and a needed value, a next step, and one text',
  (_name, guard) => {
    const holds: Hold[] = [];
    fc.assert(
      fc.property(FACTS[guard.stage as keyof typeof FACTS], (given) => {
        const { isHeld, hold } = objectionOf(guard, given);
        expect(hold !== undefined || !isHeld).toBe(true);
        if (hold === undefined) return;
        holds.push(hold);
        for (const part of [hold.measured, hold.needed, hold.remedy]) expect(part).toMatch(/^\S[^\n]*[^.;\s]$/);
        const text = holdText(hold);
        for (const part of [hold.measured, hold.needed, hold.remedy]) expect(text).toContain(part);
        if (hold.until !== undefined) expect(text).toContain(isoTime(hold.until));
        if (hold.trend !== undefined) expect(text).toContain(`${hold.measured}, ${hold.trend}`);
        expect(denialBy(guard.name, hold)).toEqual({ guard: guard.name, reason: text, ...hold });
      }),
      { numRuns: 400 },
    );
    expect(holds.length).toBeGreaterThan(0);
    expect(holds.some(({ trend }) => trend !== undefined)).toBe(WITH_TREND.has(guard.name));
    expect(holds.some(({ until }) => until !== undefined)).toBe(WITH_END.has(guard.name));
  },
);
