import { expect, test } from 'vitest';
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOST = 'app.example.com';

const at = (ago: number, delivered: number, failed: number, host = HOST): EndedAttempts => ({
  host,
  minute: NOW - ago * MINUTE,
  delivered,
  failed,
  failedFrom: failed === 0 ? Infinity : NOW - ago * MINUTE,
  lost: 0,
  reasons: new Map(),
});

function world(since = NOW - 7 * HOUR) {
  const clock = new ManualClock(NOW);
  const recent = new RecentAttempts(clock);
  const take = (...attempts: readonly EndedAttempts[]): void =>
    recent.take('prod', { from: since, watermark: clock.now(), attempts, resumeEnds: [], failures: [] });
  const of = (minutes: number, host = HOST) => recent.of('prod', host, minutes * MINUTE);
  return { clock, recent, take, of };
}

test('a window slides over the minutes of the entries, whenever they were read', () => {
  const { take, of } = world();
  take(at(20, 100, 0), at(15, 5, 1));
  take(at(15, 0, 1), at(2, 3, 0), at(2, 7, 7, 'other.example.com'));
  expect(of(15)).toEqual({ delivered: 8, all: 10 });
  expect(of(14)).toEqual({ delivered: 3, all: 3 });
  expect(of(60)).toEqual({ delivered: 108, all: 110 });
  expect(of(15, 'silent.example.com')).toEqual({ delivered: 0, all: 0 });
});

test('minutes are removed as time passes, and their slots reused', async () => {
  const { clock, recent, take, of } = world();
  take(at(0, 4, 0));
  await clock.advance(6 * HOUR);
  recent.take('prod', {
    from: NOW,
    watermark: clock.now(),
    attempts: [
      { host: HOST, minute: clock.now(), delivered: 1, failed: 0, failedFrom: NOW, lost: 0, reasons: new Map() },
    ],
    resumeEnds: [],
    failures: [],
  });
  expect(of(15)).toEqual({ delivered: 1, all: 1 });
  expect(of(350)).toEqual({ delivered: 1, all: 1 });
  // Newer data occupies the slot: an entry of six hours ago changes nothing.
  take(at(0, 9, 0));
  expect(of(15)).toEqual({ delivered: 1, all: 1 });
});

test('nothing is known before the whole window was watched', async () => {
  const { clock, take, of } = world(NOW);
  expect(of(15)).toBeUndefined();
  take(at(0, 50, 0));
  expect(of(1)).toBeUndefined();
  await clock.advance(15 * MINUTE - 1);
  take();
  expect(of(15)).toBeUndefined();
  await clock.advance(1);
  expect(of(15)).toEqual({ delivered: 50, all: 50 });
});

test('nothing is known while the reading of the log is behind', async () => {
  const { clock, take, of } = world();
  take(at(0, 50, 0));
  await clock.advance(5 * MINUTE);
  expect(of(15)).toEqual({ delivered: 50, all: 50 });
  await clock.advance(1);
  expect(of(15)).toBeUndefined();
  take();
  expect(of(15)).toEqual({ delivered: 50, all: 50 });
});

test('nothing is known of another account, or of more than six hours', () => {
  const { recent, take, of } = world();
  take(at(0, 50, 0));
  expect(recent.of('other', HOST, MINUTE)).toBeUndefined();
  expect(of(358)).toEqual({ delivered: 50, all: 50 });
  expect(of(360)).toBeUndefined();
});

test('of too many hosts the silent ones are removed, and their history becomes unknown instead of zero', () => {
  const { take, of } = world();
  take(at(30, 1, 0, 'old.example.com'));
  take(at(10, 1, 0));
  take(...Array.from({ length: 499 }, (_, n) => at(5, 1, 0, `h${n}.example.com`)));
  expect(of(60)).toEqual({ delivered: 1, all: 1 });
  expect(of(60, 'old.example.com')).toBeUndefined();
  expect(of(60, 'new.example.com')).toBeUndefined();
  expect(of(29, 'new.example.com')).toEqual({ delivered: 0, all: 0 });
  expect(of(60, 'h1.example.com')).toEqual({ delivered: 1, all: 1 });
  take(at(1, 2, 0, 'old.example.com'));
  expect(of(60, 'old.example.com')).toBeUndefined();
  expect(of(9, 'old.example.com')).toEqual({ delivered: 2, all: 2 });
});

test('a failing destination is known as failing while the log is read up, also after a restart', async () => {
  const { clock, recent, take } = world();
  take(at(3, 0, 30));
  await clock.advance(20 * MINUTE);
  expect(recent.of('prod', HOST, 15 * MINUTE)).toBeUndefined();
  expect(recent.seen('prod', HOST, 15 * MINUTE)).toEqual({ delivered: 0, all: 30 });
  const restarted = new RecentAttempts(clock);
  restarted.restore('prod', { from: NOW - HOUR, watermark: NOW, attempts: [at(3, 0, 30)] });
  expect(restarted.seen('prod', HOST, 15 * MINUTE)).toEqual({ delivered: 0, all: 30 });
  await clock.advance(40 * MINUTE + 1);
  expect(restarted.seen('prod', HOST, 15 * MINUTE)).toBeUndefined();
});
