/** Compares a day of the sample traffic, without sockets, with the objectives of the shipped alerts. */
import { expect, test } from 'vitest';
import {
  FAST_BURN,
  OBJECTIVES,
  PARTIAL_OUTAGE,
  SLOW_BURN,
  type BurnRate,
  type BurnWindow,
} from '../../../deploy/prometheus/thresholds.ts';
import { compileRetryDelay } from '#emulator/state/retry-delay.ts';
import { sampleHandlers, type SampleHost } from '#emulator/sample/handlers.ts';
import { pickKind, SAMPLE_URL_GROUPS, sampleMessage } from '#emulator/sample/messages.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

const MINUTE = 60_000;
const DAY = 1_440;
const STEP = 5;
/** The demo's mean rate, without its bursts. */
const MESSAGES_PER_SECOND = 8;

interface Count {
  attempts: number;
  failedAttempts: number;
  finished: number;
  lost: number;
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Counts of each destination in steps of five minutes. A URL Group is one destination, as in the metrics. */
type Day = ReadonlyMap<string, readonly Count[]>;

async function dayOf(seed: number): Promise<Day> {
  const clock = new ManualClock(Date.UTC(2026, 10, 20));
  const random = seededRandom(seed);
  const handlers = sampleHandlers({ clock, random, app: { isBroken: false, wasUsed: false } });
  const day = new Map<string, Count[]>();

  function countOf(destination: string): Count {
    const counts = day.get(destination) ?? [];
    day.set(destination, counts);
    const step = Math.floor(clock.monotonic() / MINUTE / STEP);
    return (counts[step] ??= { attempts: 0, failedAttempts: 0, finished: 0, lost: 0 });
  }

  function attempt(url: URL, destination: string, { headers, body }: Sent, retried = 0): void {
    const { status } = handlers[url.hostname as SampleHost]({ path: url.pathname, body });
    const count = countOf(destination);
    count.attempts += 1;
    if (status === 200) {
      count.finished += 1;
      return;
    }
    count.failedAttempts += 1;
    if (retried < Number(headers['Retries'])) {
      const delay = compileRetryDelay(headers['Retry-Delay']!)(retried);
      clock.after(delay, () => attempt(url, destination, { headers, body }, retried + 1));
      return;
    }
    count.finished += 1;
    count.lost += 1;
  }

  for (let second = 0; second < DAY * 60; second += 1) {
    for (let index = 0; index < MESSAGES_PER_SECOND; index += 1) {
      const message = sampleMessage(pickKind(random), random);
      const sent = { headers: message.headers, body: message.body as Sent['body'] };
      const group = SAMPLE_URL_GROUPS[message.destination];
      for (const { url } of group ?? [{ url: message.destination }]) {
        const parsed = new URL(url);
        attempt(parsed, group === undefined ? parsed.hostname : message.destination, sent);
      }
    }
    await clock.advance(1_000);
  }
  return day;
}

const UNITS: Readonly<Record<string, number>> = { m: 1, h: 60, d: DAY };

/** Minutes of a span such as `6h`. */
const minutesOf = (span: string): number => Number.parseInt(span, 10) * UNITS[span.at(-1)!]!;

const sum = (counts: readonly Count[], what: keyof Count): number =>
  counts.reduce((total, count) => total + count[what], 0);
const lost = (counts: readonly Count[]): number => sum(counts, 'lost') / Math.max(1, sum(counts, 'finished'));
const failed = (counts: readonly Count[]): number =>
  sum(counts, 'failedAttempts') / Math.max(1, sum(counts, 'attempts'));

/** Minutes at which both windows of a rate exceed it, once the destination is old enough for the rate. */
function burning(
  counts: readonly Count[],
  rates: readonly BurnRate[],
  { share, objective }: { readonly share: (counts: readonly Count[]) => number; readonly objective: number },
): readonly number[] {
  const ends = counts.map((_count, index) => index + 1);
  const above = (end: number, window: BurnWindow, factor: number): boolean =>
    share(counts.slice(Math.max(0, end - minutesOf(window) / STEP), end)) > factor * (1 - objective);
  return rates.flatMap(({ factor, long, short, known }) =>
    ends
      .filter((end) => end * STEP >= minutesOf(known) && above(end, long, factor) && above(end, short, factor))
      .map((end) => end * STEP),
  );
}

test('within a day each destination meets its objective and burns no error budget', async () => {
  const day = await dayOf(1);
  expect(day.size).toBe(7);
  for (const [destination, counts] of day) {
    expect(
      counts.filter(({ attempts }) => attempts > 0),
      destination,
    ).toHaveLength(DAY / STEP);
    expect(lost(counts), `${destination}: lost messages`).toBeLessThan(1 - OBJECTIVES.delivered);
    expect(failed(counts), `${destination}: failed attempts`).toBeLessThan(1 - OBJECTIVES.attempts);
    const messages = { share: lost, objective: OBJECTIVES.delivered };
    const attempts = { share: failed, objective: OBJECTIVES.attempts };
    expect(burning(counts, [...FAST_BURN, ...SLOW_BURN], messages), `${destination}: messages`).toEqual([]);
    expect(burning(counts, PARTIAL_OUTAGE, attempts), `${destination}: attempts`).toEqual([]);
  }
  // The demo still has dead letters and failed runs.
  for (const destination of ['app.shop.example', 'crm.vendor.example', 'email.vendor.example', 'order-events']) {
    expect(sum(day.get(destination)!, 'lost'), destination).toBeGreaterThan(DAY / 24);
  }
});
