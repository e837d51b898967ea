import fc from 'fast-check';
import { createTask, validate } from 'node-cron';
import { describe, expect, test } from 'vitest';
import { cronSlots } from '#foundation/settings/cron.ts';
import { intervalOf } from '#foundation/settings/schedule.ts';

/** Returns the next slots as `HH:MM` of UTC with their day, from a given time. */
function slots(expression: string, timezone: string, from: string, count: number): string[] {
  const cron = cronSlots(expression, timezone);
  const found: string[] = [];
  let at = Date.parse(from);
  for (let n = 0; n < count; n += 1) {
    const next = cron.next(at);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().slice(5, 16).replace('T', ' '));
    at = next;
  }
  return found;
}

describe('slots in UTC', () => {
  test.each([
    ['*/15 * * * *', '2026-11-20T10:07:00Z', ['11-20 10:15', '11-20 10:30', '11-20 10:45']],
    ['0 3 * * *', '2026-11-20T03:00:00Z', ['11-21 03:00', '11-22 03:00']],
    ['0 9 * * 1-5', '2026-11-20T09:00:00Z', ['11-23 09:00', '11-24 09:00']],
    ['0 0 31 * *', '2026-04-01T00:00:00Z', ['05-31 00:00', '07-31 00:00', '08-31 00:00']],
    ['0 0 L 2 *', '2027-12-01T00:00:00Z', ['02-29 00:00', '02-28 00:00']],
    ['0 0 * * 1#2', '2026-11-01T00:00:00Z', ['11-09 00:00', '12-14 00:00']],
    ['0 0 13 * 5', '2026-01-01T00:00:00Z', ['02-13 00:00', '03-13 00:00', '11-13 00:00']],
  ])('%s', (expression, from, expected) => {
    expect(slots(expression, 'UTC', from, expected.length)).toEqual(expected);
  });

  test('seconds', () => {
    const cron = cronSlots('*/20 * * * * *', 'UTC');
    expect(cron.next(Date.parse('2026-11-20T10:00:00.999Z'))).toBe(Date.parse('2026-11-20T10:00:20Z'));
    expect(cron.next(Date.parse('2026-11-20T10:59:40Z'))).toBe(Date.parse('2026-11-20T11:00:00Z'));
  });

  test('a day that occurs once in decades is found', () => {
    expect(cronSlots('0 0 29 2 1', 'UTC').next(Date.parse('2026-01-01T00:00:00Z'))).toBe(Date.UTC(2044, 1, 29));
  });

  test('an invalid expression is rejected', () => {
    expect(() => cronSlots('0 25 * * *', 'UTC')).toThrow(/hour/);
    expect(() => cronSlots('0 0 30 2 *', 'UTC')).toThrow(/impossible/);
  });
});

describe('when Berlin goes back from 03:00 to 02:00, on 25 October 2026 at 01:00 UTC', () => {
  test('an interval keeps its pace through both passes of the hour', () => {
    expect(slots('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 5)).toEqual([
      '10-25 00:30',
      '10-25 01:00',
      '10-25 01:30',
      '10-25 02:00',
      '10-25 02:30',
    ]);
  });

  test('a time of day in the repeated hour occurs once', () => {
    expect(slots('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual(['10-25 00:30', '10-26 01:30']);
  });

  test('it does not recur when requested in the second pass', () => {
    expect(slots('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['10-26 01:30']);
  });

  test('times of the same day after the repeated hour are at their place', () => {
    expect(slots('0 3 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['10-25 02:00']);
  });
});

describe('when Berlin moves forward from 02:00 to 03:00, on 29 March 2026 at 01:00 UTC', () => {
  test('an interval keeps its pace', () => {
    expect(slots('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 4)).toEqual([
      '03-29 00:30',
      '03-29 01:00',
      '03-29 01:30',
      '03-29 02:00',
    ]);
  });

  test('a skipped time of day occurs at the change', () => {
    expect(slots('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual(['03-29 01:00', '03-30 00:30']);
  });

  test('several skipped times occur as one', () => {
    expect(slots('*/10 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:30:00Z', 2)).toEqual(['03-29 01:00', '03-29 01:10']);
  });
});

test('a zone that changes at midnight', () => {
  // Beirut moves from 00:00 to 01:00 on 29 March 2026.
  expect(slots('0 0 * * *', 'Asia/Beirut', '2026-03-28T00:00:00Z', 3)).toEqual([
    '03-28 22:00',
    '03-29 21:00',
    '03-30 21:00',
  ]);
});

test('a zone that changes by half an hour', () => {
  // Lord Howe Island moves back from 02:00 to 01:30 on 5 April 2026, at 15:00 UTC of the previous day.
  expect(slots('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', 2)).toEqual(['04-04 14:45', '04-05 15:15']);
});

test('the next slot is the first time that node-cron matches', () => {
  const zones = ['UTC', 'Asia/Kathmandu', 'America/Phoenix'];
  const parts = fc.record({
    minute: fc.constantFrom('*', '*/7', '0', '13,44', '20-25'),
    hour: fc.constantFrom('*', '*/5', '0', '3,23', '9-17'),
    day: fc.constantFrom('*', '1', '31', 'L', '10-20'),
    month: fc.constantFrom('*', '2', '*/3'),
    weekday: fc.constantFrom('*', '1-5', '0'),
  });
  const start = Date.UTC(2026, 0, 1);
  fc.assert(
    fc.property(parts, fc.constantFrom(...zones), fc.integer({ min: 0, max: 366 * 86_400 }), (p, zone, second) => {
      const expression = `${p.minute} ${p.hour} ${p.day} ${p.month} ${p.weekday}`;
      fc.pre(validate(expression));
      const task = createTask(expression, () => undefined, { timezone: zone });
      try {
        const after = start + second * 1_000;
        const next = cronSlots(expression, zone).next(after)!;
        expect(task.match(new Date(next))).toBe(true);
        // Checks that no earlier time matches, within a limit.
        const firstMinute = Math.floor(after / 60_000) * 60_000 + 60_000;
        for (let at = firstMinute; at < Math.min(next, firstMinute + 200 * 60_000); at += 60_000) {
          expect(task.match(new Date(at))).toBe(false);
        }
      } finally {
        void task.destroy();
      }
    }),
    { numRuns: 60 },
  );
});

describe('the interval of a schedule', () => {
  test.each([
    [{ every: 30_000 }, 30_000],
    [{ cron: '*/30 * * * * *', timezone: 'UTC' }, 30_000],
    [{ cron: '0 3 * * *', timezone: 'UTC' }, 86_400_000],
    [{ cron: '0 9-17 * * 1-5', timezone: 'UTC' }, 64 * 3_600_000],
    [{ cron: '0 0 1 * *', timezone: 'UTC' }, 28 * 86_400_000],
  ])('%o', (schedule, expected) => {
    expect(intervalOf(schedule)).toBe(expected);
  });
});
