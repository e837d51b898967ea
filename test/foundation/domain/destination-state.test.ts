/** State of a destination: from any attempts, each state is reached, and equal facts are the same state. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  DESTINATION_STATES,
  destinationStatus,
  outageOf,
  isHealthy,
  type AttemptFacts,
  type AttemptMinute,
  type DestinationState,
} from '#foundation/domain/destination-state.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 20, 12);

type Ago = readonly [ago: number, delivered: number, failed: number];

function facts(minutes: readonly Ago[]): AttemptFacts {
  const rows = minutes.map(([ago, delivered, failed]): AttemptMinute => {
    const minute = NOW - ago * MINUTE;
    return { minute, delivered, failed, failedFrom: failed === 0 ? Infinity : minute + 1, lost: failed };
  });
  const sorted = rows.toSorted((a, b) => b.minute - a.minute);
  return { minutes: () => sorted, from: NOW - 300 * MINUTE, until: NOW };
}

const each = (from: number, to: number, delivered: number, failed: number): Ago[] =>
  Array.from({ length: from - to + 1 }, (_, index) => [from - index, delivered, failed] as const);

const stateOf = (minutes: readonly Ago[]): DestinationState => destinationStatus(facts(minutes)).state;

test.each<[string, readonly Ago[], DestinationState]>([
  ['no attempts', [], 'unknown'],
  ['few attempts', each(5, 1, 3, 0), 'unknown'],
  ['deliveries', each(9, 1, 5, 0), 'healthy'],
  ['a fifth fails', each(9, 1, 8, 2), 'degraded'],
  ['everything fails', each(9, 1, 0, 5), 'failing'],
  ['a first delivery after an outage', [...each(19, 1, 0, 5), [0, 3, 0]], 'recovering'],
  ['half of the attempts after an outage', [...each(19, 8, 0, 5), ...each(7, 0, 5, 5)], 'recovering'],
  ['deliveries for six minutes after an outage', [...each(19, 7, 0, 5), ...each(6, 0, 1, 0)], 'healthy'],
  ['one delivery, six minutes ago', [...each(19, 7, 0, 5), [6, 1, 0]], 'healthy'],
  ['a fifth fails for long after an outage', [...each(60, 31, 0, 5), ...each(30, 0, 8, 2)], 'degraded'],
  ['an outage more than an hour ago', each(90, 61, 0, 5), 'unknown'],
])('%s: %s', (_name, minutes, expected) => {
  expect(stateOf(minutes)).toBe(expected);
});

const aMinute = fc.tuple(fc.nat(70), fc.constantFrom(0, 0, 1, 4, 9), fc.constantFrom(0, 0, 1, 5));
const someMinutes = fc.uniqueArray(aMinute, { maxLength: 40, selector: ([ago]) => ago });

test('each state has the attempts that show it', () => {
  const reached = new Set<DestinationState>();
  fc.assert(
    fc.property(someMinutes, (minutes) => {
      const known = facts(minutes);
      const { state, delivered, all, since } = destinationStatus(known);
      reached.add(state);
      expect(since).toBeLessThanOrEqual(NOW);
      expect(state === 'failing').toBe(outageOf(known) !== undefined);
      if (state === 'failing') expect(delivered * 10).toBeLessThan(all);
      if (state === 'degraded') expect(isHealthy({ delivered, all })).toBe(false);
      if (state === 'healthy') expect(isHealthy({ delivered, all }) && delivered > 0).toBe(true);
      if (state === 'recovering') expect(delivered).toBeGreaterThan(0);
    }),
    { numRuns: 3_000, seed: 7 },
  );
  expect([...reached].toSorted()).toEqual([...DESTINATION_STATES].toSorted());
});

test('neither the order of the attempts, nor their commits, nor a restart change the state', () => {
  fc.assert(
    fc.property(
      someMinutes.chain((minutes) =>
        fc.tuple(
          fc.constant(minutes),
          fc.shuffledSubarray([...minutes], { minLength: minutes.length }),
          fc.nat(minutes.length),
        ),
      ),
      ([minutes, shuffled, cut]) => {
        const clock = new ManualClock(NOW);
        const attempts = (some: readonly Ago[]) =>
          some.map(([ago, delivered, failed]) => {
            const minute = NOW - ago * MINUTE;
            const failedFrom = failed === 0 ? Infinity : minute + 1;
            return {
              host: 'a',
              minute,
              delivered,
              failed,
              failedFrom,
              lost: failed,
              reasons: new Map<string, number>(),
            };
          });
        const read = { from: NOW - 300 * MINUTE, watermark: NOW, resumeEnds: [], failures: [] };
        const recent = new RecentAttempts(clock);
        recent.restore('prod', { ...read, attempts: attempts(shuffled.slice(0, cut)) });
        recent.take('prod', { ...read, attempts: attempts(shuffled.slice(cut)) });
        expect(recent.destination('prod', 'a')).toEqual(destinationStatus(facts(minutes)));
      },
    ),
  );
});
