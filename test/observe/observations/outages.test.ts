/** Destinations that are down: an outage is reported with its size, and nothing else is reported as one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const HOST = 'crm.vendor.example';

interface Minute {
  readonly ago: number;
  readonly delivered?: number;
  readonly failed?: number;
  readonly lost?: number;
  readonly reason?: string;
  readonly host?: string;
}

function ended({ ago, delivered = 0, failed = 0, lost = 0, reason = 'HTTP 503', host = HOST }: Minute): EndedAttempts {
  const minute = NOW - ago * MINUTE;
  const failedFrom = failed === 0 ? Infinity : minute + 7_000;
  return {
    host,
    minute,
    delivered,
    failed,
    failedFrom,
    lost,
    reasons: new Map(failed === 0 ? [] : [[reason, failed]]),
  };
}

function outages(minutes: readonly Minute[], watched = 420) {
  const clock = new ManualClock(NOW);
  const recent = new RecentAttempts(clock);
  const from = NOW - watched * MINUTE;
  recent.take('prod', { from, watermark: NOW, attempts: minutes.map(ended), resumeEnds: [], failures: [] });
  return { clock, recent, found: recent.outages('prod') };
}

/** Builds equal minutes from `from` to `to` minutes ago. */
function each(from: number, to: number, of: Omit<Minute, 'ago'>): Minute[] {
  return Array.from({ length: from - to + 1 }, (_, index) => ({ ago: from - index, ...of }));
}

test('a destination that fails everything is down since its first failure, with the size of the outage', () => {
  const { found } = outages([
    ...each(40, 21, { delivered: 50 }),
    ...each(20, 2, { failed: 10, lost: 3 }),
    { ago: 1, failed: 5, reason: 'timeout' },
    ...each(40, 1, { host: 'well.example', delivered: 20, failed: 1 }),
  ]);
  expect(found).toEqual([
    {
      host: HOST,
      since: NOW - 20 * MINUTE + 7_000,
      isSinceKnown: true,
      lastAt: NOW - MINUTE,
      failed: 195,
      delivered: 0,
      lost: 57,
      reasons: [
        { reason: 'HTTP 503', count: 190 },
        { reason: 'timeout', count: 5 },
      ],
    },
  ]);
});

test('failures that the daemon finds at its start may have begun earlier', () => {
  expect(outages(each(9, 0, { failed: 10 }), 10).found).toMatchObject([{ isSinceKnown: false }]);
  expect(outages(each(9, 0, { failed: 10 }), 60).found).toMatchObject([{ isSinceKnown: true }]);
});

test('a few deliveries do not end an outage, and it ends when most attempts succeed', () => {
  const down = [...each(20, 1, { failed: 20 }), { ago: 5, delivered: 1 }];
  expect(outages(down).found).toMatchObject([{ delivered: 1, failed: 400 }]);
  expect(outages([...down, { ago: 0, delivered: 3 }]).found).toEqual([]);
});

test('the worst outage comes first', () => {
  const found = outages([...each(9, 1, { failed: 5 }), ...each(9, 1, { failed: 6, host: 'b.example' })]).found;
  expect(found?.map(({ host }) => host)).toEqual(['b.example', HOST]);
});

describe('no outage is', () => {
  test.each<readonly [string, readonly Minute[]]>([
    ['a start without history', []],
    ['an occasional failure', [...each(30, 1, { delivered: 30 }), { ago: 3, failed: 5 }]],
    [
      'an occasional failure without other traffic',
      [
        { ago: 30, failed: 2 },
        { ago: 9, failed: 1 },
        { ago: 2, failed: 3 },
      ],
    ],
    ['a burst whose retries are still to come', [{ ago: 1, failed: 200 }]],
    ['retries that succeed in the end', each(30, 0, { delivered: 5, failed: 15 })],
    ['failures that are over', [...each(30, 5, { failed: 40, lost: 40 }), ...each(4, 0, { delivered: 9 })]],
    ['failures of long ago', each(200, 80, { failed: 20, lost: 5 })],
  ])('%s', (_what, minutes) => {
    expect(outages(minutes).found).toEqual([]);
  });
});

test('unknown is not reported as healthy: no reading yet, or one that is behind', async () => {
  const { clock, recent } = outages(each(9, 0, { failed: 10 }));
  expect(recent.outages('other')).toBeUndefined();
  await clock.advance(5 * MINUTE + 1);
  expect(recent.outages('prod')).toBeUndefined();
});

test('a destination that delivers a tenth of each minute or more is never down', () => {
  const minutes = fc.array(
    fc.record({
      ago: fc.integer({ min: 0, max: 359 }),
      delivered: fc.integer({ min: 1, max: 50 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      lost: fc.nat(50),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(minutes, (rows) => {
      const given = rows.map(({ share, ...row }) => ({ ...row, failed: Math.floor(share * 9 * row.delivered) }));
      expect(outages(given).found).toEqual([]);
    }),
  );
});

test('a destination that delivered nothing for minutes is down, with the sums of all that failed', () => {
  const minutes = fc.uniqueArray(
    fc.record({ ago: fc.integer({ min: 0, max: 59 }), failed: fc.integer({ min: 4, max: 90 }), lost: fc.nat(4) }),
    { minLength: 3, maxLength: 60, selector: ({ ago }) => ago },
  );
  fc.assert(
    fc.property(minutes, (rows) => {
      const sum = (of: (row: (typeof rows)[number]) => number): number => rows.reduce((all, row) => all + of(row), 0);
      const oldest = Math.max(...rows.map(({ ago }) => ago));
      expect(outages([{ ago: 61, delivered: 9 }, ...rows]).found).toMatchObject([
        {
          failed: sum(({ failed }) => failed),
          lost: sum(({ lost }) => lost),
          since: NOW - oldest * MINUTE + 7_000,
          isSinceKnown: true,
        },
      ]);
    }),
  );
});
