import { expect, test } from 'vitest';
import { EventBus, type Api } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const DAY = 86_400_000;

function world() {
  const local = new ManualClock(NOW);
  const events = new EventBus();
  const clock = new VerifiedClock(local, events);
  const answer = (clockSkewMs?: number, of: { account?: string; api?: Api; code?: number | 'error' } = {}): void => {
    const { account = 'main', api = 'message', code = 200 } = of;
    const skew = clockSkewMs === undefined ? {} : { clockSkewMs };
    events.emit({
      type: 'api.request',
      account,
      api,
      operation: 'x',
      method: 'GET',
      url: 'https://eu.example/v2/x',
      code,
      durationMs: 1,
      bytes: 0,
      ...skew,
    });
  };
  return { local, clock, answer };
}

test('time continues through a jump of the local clock, in both directions', async () => {
  const { local, clock, answer } = world();
  answer(0);
  for (const jump of [31 * DAY, -62 * DAY, MINUTE]) local.jump(jump);
  expect(clock.now()).toBe(NOW);
  await local.advance(MINUTE);
  expect(clock.now()).toBe(NOW + MINUTE);
  expect(clock.steadySince).toBe(NOW);
});

test('time is that of the local clock before the first response', async () => {
  const { local, clock, answer } = world();
  await local.advance(MINUTE);
  // The monotonic clock of a suspended machine stops.
  local.jump(5 * MINUTE);
  expect(clock.now()).toBe(NOW + 6 * MINUTE);
  answer(0, { code: 'error' });
  expect(clock.now()).toBe(NOW + 6 * MINUTE);
  answer(0);
  expect([clock.now(), clock.steadySince]).toEqual([NOW + 6 * MINUTE, NOW + 6 * MINUTE]);
});

test('time is set to a local time that a response confirms, and to no other', () => {
  const { local, clock, answer } = world();
  local.jump(2 * DAY);
  answer(2 * DAY);
  answer(undefined);
  answer(undefined, { code: 'error' });
  expect(clock.now()).toBe(NOW);
  answer(MINUTE);
  expect([clock.now(), clock.steadySince]).toEqual([NOW + 2 * DAY, NOW + 2 * DAY]);
});

test('time is not set for less than a second', () => {
  const { local, clock, answer } = world();
  local.jump(999);
  answer(0);
  expect(clock.now()).toBe(NOW);
  local.jump(1);
  answer(0);
  expect([clock.now(), clock.steadySince]).toEqual([NOW + 1_000, NOW + 1_000]);
});

test('the skew is unknown before a response, and then follows the local clock between responses', async () => {
  const { local, clock, answer } = world();
  expect(clock.skewMs('main')).toBeUndefined();
  answer(undefined, { code: 'error' });
  expect(clock.skewMs('main')).toBeUndefined();
  answer(40);
  await local.advance(MINUTE);
  expect(clock.skewMs('main')).toBe(40);
  local.jump(-DAY);
  expect(clock.skewMs('main')).toBe(40 - DAY);
  expect(clock.skewMs('other')).toBeUndefined();
});

test('a corrected local clock does not advance this clock before the next confirmation', () => {
  const { local, clock, answer } = world();
  answer(DAY);
  local.jump(-DAY);
  expect(clock.skewMs('main')).toBe(DAY);
  answer(0);
  expect([clock.skewMs('main'), clock.now()]).toEqual([0, NOW - DAY]);
});

test('of the two APIs of an account the one with the larger difference counts', () => {
  const { clock, answer } = world();
  answer(-90_000);
  answer(10, { api: 'management' });
  expect(clock.skewMs('main')).toBe(-90_000);
  answer(5);
  expect(clock.skewMs('main')).toBe(10);
});

test('a service without Date shows a jump since the start, and none before it', async () => {
  const { local, clock, answer } = world();
  local.jump(DAY);
  answer();
  await local.advance(MINUTE);
  expect(clock.skewMs('main')).toBe(DAY);
});

test('the local clock is verified while one service confirms it', () => {
  const { local, clock, answer } = world();
  expect(clock.isVerified()).toBe(false);
  answer(90_000, { account: 'other' });
  expect(clock.isVerified()).toBe(false);
  answer(0);
  expect(clock.isVerified()).toBe(true);
  local.jump(2 * MINUTE);
  expect(clock.isVerified()).toBe(false);
});

test('timers run on the local clock, and a closed clock receives nothing', async () => {
  const { local, clock, answer } = world();
  let fired = 0;
  clock.after(MINUTE, () => void fired++);
  await local.advance(MINUTE);
  expect([fired, clock.monotonic()]).toEqual([1, MINUTE]);
  clock[Symbol.dispose]();
  answer(0);
  expect(clock.skewMs('main')).toBeUndefined();
});
