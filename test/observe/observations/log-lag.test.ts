import { expect, test } from 'vitest';
import { LogLag } from '#observe/observations/log-lag.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;

function world() {
  const clock = new ManualClock(NOW);
  const lag = new LogLag(clock);
  /** Applies a watermark this many minutes after the start, after a wait of this many minutes. */
  const take = async (waited: number, minutes: number): Promise<void> => {
    await clock.advance(waited * MINUTE);
    lag.take('prod', NOW + minutes * MINUTE);
  };
  return { clock, take, of: () => lag.of('prod') };
}

test('nothing is known before the first watermark, and no rate in the first minute', async () => {
  const { clock, take, of } = world();
  expect(of()).toBeUndefined();
  await take(0, -30);
  expect(of()).toEqual({ watermark: NOW - 30 * MINUTE, lagMs: 30 * MINUTE });
  await clock.advance(MINUTE - 1);
  expect(of()).not.toHaveProperty('catchUpRatio');
});

test('the rate covers the last ten minutes, and decreases while nothing is counted', async () => {
  const { clock, take, of } = world();
  await take(0, -100);
  for (let n = 1; n <= 10; n += 1) await take(1, -100 + 4 * n);
  expect(of()).toEqual({ watermark: NOW - 60 * MINUTE, lagMs: 70 * MINUTE, catchUpRatio: 4 });
  await clock.advance(5 * MINUTE);
  expect(of()).toMatchObject({ catchUpRatio: 2 });
  await clock.advance(5 * MINUTE);
  expect(of()).toMatchObject({ catchUpRatio: 0 });
});

test('commits in quick succession add to the rate', async () => {
  const { take, of } = world();
  await take(0, -100);
  for (let n = 1; n <= 600; n += 1) await take(1 / 60, -100 + n / 30);
  expect(of()).toMatchObject({ catchUpRatio: 2 });
});

test('a watermark ahead of the local clock has no lag', async () => {
  const { clock, take, of } = world();
  await take(0, 0);
  clock.jump(-2 * MINUTE);
  expect(of()).toEqual({ watermark: NOW });
});

test('a watermark that is set back starts a new measurement', async () => {
  const { take, of } = world();
  await take(0, 2_880);
  await take(5, -10);
  expect(of()).not.toHaveProperty('catchUpRatio');
  await take(2, -4);
  expect(of()).toMatchObject({ catchUpRatio: 3 });
});
