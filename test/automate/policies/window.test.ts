import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoTime } from '#foundation/domain/hold.ts';
import type { PolicyWindow } from '#automate/policies/policy.ts';
import { daysOf, minutesOf, nextWindow } from '#automate/policies/window.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function window(days: string, from: string, to: string, timezone = 'Europe/Berlin'): PolicyWindow {
  return { days: daysOf(days)!, from: minutesOf(from)!, to: minutesOf(to)!, timezone };
}

function next(windows: readonly PolicyWindow[], now: string): string | undefined {
  const at = nextWindow(windows, Date.parse(now));
  return at === undefined ? undefined : isoTime(at);
}

describe('days and times as written', () => {
  test.each([
    ['mon-fri', [1, 2, 3, 4, 5]],
    ['sat,sun', [0, 6]],
    ['fri-mon', [0, 1, 5, 6]],
    ['Wed', [3]],
    ['mon-sun', [0, 1, 2, 3, 4, 5, 6]],
    ['mon-mon', [1]],
    ['monday', undefined],
    ['', undefined],
    ['mon-', undefined],
    ['mon-wed-fri', undefined],
    ['mon;fri', undefined],
  ])('%s', (text, days) => {
    expect(daysOf(text)).toEqual(days);
  });

  test.each([
    ['00:00', 0],
    ['06:30', 390],
    ['6:30', 390],
    ['24:00', 1_440],
    ['24:01', undefined],
    ['06:60', undefined],
    ['6', undefined],
    ['-1:00', undefined],
  ])('%s', (text, minutes) => {
    expect(minutesOf(text)).toBe(minutes);
  });
});

describe('a window', () => {
  const office = [window('mon-fri', '06:00', '22:00')];

  test('without any, every time is inside', () => {
    expect(nextWindow([], 0)).toBeUndefined();
  });

  test('is open from its first minute to before its last', () => {
    expect(next(office, '2026-11-18T04:59:59.999Z')).toBe('2026-11-18T05:00:00Z');
    expect(next(office, '2026-11-18T05:00:00Z')).toBeUndefined();
    expect(next(office, '2026-11-18T20:59:59.999Z')).toBeUndefined();
    expect(next(office, '2026-11-18T21:00:00Z')).toBe('2026-11-19T05:00:00Z');
  });

  test('waits over a weekend', () => {
    expect(next(office, '2026-11-20T21:00:00Z')).toBe('2026-11-23T05:00:00Z');
  });

  test('over midnight belongs to the day it begins on', () => {
    const friday = [window('fri', '22:00', '04:00')];
    expect(next(friday, '2026-11-20T22:00:00Z')).toBeUndefined();
    // Saturday after midnight belongs to the window that began on Friday.
    expect(next(friday, '2026-11-21T02:59:00Z')).toBeUndefined();
    expect(next(friday, '2026-11-21T03:00:00Z')).toBe('2026-11-27T21:00:00Z');
    // Friday after midnight: nothing began on Thursday.
    expect(next(friday, '2026-11-20T02:00:00Z')).toBe('2026-11-20T21:00:00Z');
    // Saturday evening: the previous day is listed, the day itself is not.
    expect(next(friday, '2026-11-21T22:00:00Z')).toBe('2026-11-27T21:00:00Z');
  });

  test('of a whole day has no gap at midnight', () => {
    const always = [window('mon-sun', '00:00', '24:00')];
    expect(next(always, '2026-11-20T22:59:59.999Z')).toBeUndefined();
    expect(next(always, '2026-11-20T23:00:00Z')).toBeUndefined();
  });

  test('of several, the next of any counts', () => {
    const two = [window('sat', '10:00', '12:00'), window('sun', '08:00', '09:00')];
    expect(next(two, '2026-11-21T11:30:00Z')).toBe('2026-11-22T07:00:00Z');
  });
});

describe('where clocks change in Berlin', () => {
  // Forward on 29 March 2026, 01:00 UTC: 02:00 becomes 03:00.
  test('a window opens at the change when its time is skipped', () => {
    const night = [window('sun', '02:30', '04:00')];
    expect(next(night, '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:00:00Z');
    expect(next(night, '2026-03-29T00:30:00.123Z')).toBe('2026-03-29T01:00:00Z');
    expect(next(night, '2026-03-29T01:00:00Z')).toBeUndefined();
    expect(next(night, '2026-03-29T02:00:00Z')).toBe('2026-04-05T00:30:00Z');
  });

  test('a window within the skipped time opens a week later', () => {
    expect(next([window('sun', '02:15', '02:45')], '2026-03-28T12:00:00Z')).toBe('2026-04-05T00:15:00Z');
  });

  // Back on 25 October 2026, 01:00 UTC: 03:00 becomes 02:00.
  test('a window opens at the change a second time', () => {
    const night = [window('sun', '01:00', '02:30')];
    expect(next(night, '2026-10-25T00:29:00Z')).toBeUndefined();
    expect(next(night, '2026-10-25T00:30:00Z')).toBe('2026-10-25T01:00:00Z');
    expect(next(night, '2026-10-25T01:00:00Z')).toBeUndefined();
    expect(next(night, '2026-10-25T01:30:00Z')).toBe('2026-11-01T00:00:00Z');
  });

  test('the first pass of a repeated hour is not skipped', () => {
    const night = [window('sun', '02:30', '02:40')];
    expect(next(night, '2026-10-25T00:00:00Z')).toBe('2026-10-25T00:30:00Z');
    expect(next(night, '2026-10-25T00:40:00Z')).toBe('2026-10-25T01:30:00Z');
  });

  test('office hours stay office hours', () => {
    const office = [window('mon-sun', '06:00', '22:00')];
    expect(next(office, '2026-03-28T22:00:00Z')).toBe('2026-03-29T04:00:00Z');
    expect(next(office, '2026-10-24T22:00:00Z')).toBe('2026-10-25T05:00:00Z');
  });
});

const clocks = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-20 06:00:00` */
function clockOf(timezone: string): Intl.DateTimeFormat {
  const known = clocks.get(timezone);
  const clock =
    known ?? new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(timezone, clock);
  return clock;
}

/** Alternative computation of the result: the wall clock as text. */
function isOpen({ days, from, to, timezone }: PolicyWindow, at: number): boolean {
  const text = clockOf(timezone).format(at);
  const [date, time] = text.split(' ') as [string, string];
  const minute = Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
  const day = new Date(`${date}T12:00:00Z`).getUTCDay();
  const began = minute >= from ? day : (day + 6) % 7;
  const since = minute >= from ? minute - from : minute + 1_440 - from;
  const length = to > from ? to - from : to + 1_440 - from;
  return days.includes(began) && since < length;
}

describe('any window', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Chatham'];
  const anyWindow = fc
    .record({
      days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 7 }),
      from: fc.integer({ min: 0, max: 1_439 }),
      to: fc.integer({ min: 0, max: 1_440 }),
      timezone: fc.constantFrom(...zones),
    })
    .filter(({ from, to }) => from !== to);
  const changes = [
    '2026-03-29T01:00Z',
    '2026-10-25T01:00Z',
    '2026-03-08T07:00Z',
    '2026-11-01T06:00Z',
    '2026-04-04T15:00Z',
  ];
  const anyTime = fc.oneof(
    fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2027, 0, 1) }),
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -26 * 60, max: 26 * 60 }))
      .map(([change, minutes]) => Date.parse(change) + minutes * MINUTE),
  );

  test('is open when the wall clock says so, and the next opening is the first', () => {
    fc.assert(
      fc.property(fc.array(anyWindow, { minLength: 1, maxLength: 3 }), anyTime, (windows, now) => {
        const open = (at: number): boolean => windows.some((one) => isOpen(one, at));
        const at = nextWindow(windows, now);
        expect(at === undefined).toBe(open(now));
        if (at === undefined) return;
        expect(at).toBeGreaterThan(now);
        expect(open(at)).toBe(true);
        expect(open(at - 1)).toBe(false);
        // Windows open on whole minutes. This checks minutes in between.
        const step = Math.max(MINUTE, Math.floor((at - now) / 100 / MINUTE) * MINUTE);
        for (let before = at - MINUTE; before > now; before -= step) expect(open(before)).toBe(false);
        for (let before = Math.max(now, at - 4 * HOUR); before < at; before += 5 * MINUTE)
          expect(open(before)).toBe(false);
      }),
      { numRuns: 400 },
    );
  });
});
