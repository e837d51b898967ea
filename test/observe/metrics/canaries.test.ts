/** Metrics of canaries: the verdict and the last success from their states, counts and durations from events. */
import { expect, test } from 'vitest';
import { CANARY_OUTCOMES, CANARY_VERDICTS, type CanaryState } from '#foundation/domain/canary.ts';
import type { MetricsDeps } from '#observe/metrics/sources.ts';
import { NOW, seriesOf, world } from './world.ts';

type State = Pick<CanaryState, 'account' | 'canary' | 'verdict' | 'lastSuccessAt'>;

const HOME = { account: 'prod', canary: 'home' } as const;
const LABELS = 'account="prod",canary="home"';

/** @param states what the canaries are at each scrape */
async function canaries(states: readonly State[]) {
  let now = states;
  const deps: Partial<MetricsDeps> = { canaries: () => now };
  return { ...(await world({ deps })), become: (next: readonly State[]) => (now = next) };
}

test('the verdict is one series of a canary, and the previous one disappears', async () => {
  const { scrape, become } = await canaries([{ ...HOME, verdict: 'unknown' }]);
  const info = 'msgsvc_canary_verdict_info';
  expect(seriesOf(await scrape(), info)).toEqual({ [`${info}{${LABELS},verdict="unknown"}`]: 1 });
  for (const verdict of CANARY_VERDICTS) {
    become([{ ...HOME, verdict }]);
    expect(seriesOf(await scrape(), info)).toEqual({ [`${info}{${LABELS},verdict="${verdict}"}`]: 1 });
  }
  become([]);
  expect(seriesOf(await scrape(), info)).toEqual({});
});

test('the last success is absent before the first one, and stays through failures', async () => {
  const { scrape, become } = await canaries([{ ...HOME, verdict: 'service' }]);
  const last = 'msgsvc_canary_last_success_timestamp_seconds';
  expect(seriesOf(await scrape(), last)).toEqual({});
  become([{ ...HOME, verdict: 'network', lastSuccessAt: NOW - 5_000 }]);
  expect(seriesOf(await scrape(), last)).toEqual({ [`${last}{${LABELS}}`]: NOW / 1_000 - 5 });
});

test('messages are counted by outcome, from zero, and events of one canary do not count for another', async () => {
  const { scrape, events } = await canaries([
    { ...HOME, verdict: 'ok' },
    { ...HOME, canary: 'queue', verdict: 'ok' },
  ]);
  const total = 'msgsvc_canary_messages_total';
  const before = seriesOf(await scrape(), total);
  expect(Object.keys(before)).toHaveLength(2 * CANARY_OUTCOMES.length);
  expect(new Set(Object.values(before))).toEqual(new Set([0]));
  for (const outcome of ['sent', 'sent', 'lost'] as const) events.emit({ type: 'canary.message', ...HOME, outcome });
  const counted = Object.entries(seriesOf(await scrape(), total)).filter(([, value]) => value > 0);
  expect(counted).toEqual([
    [`${total}{${LABELS},outcome="sent"}`, 2],
    [`${total}{${LABELS},outcome="lost"}`, 1],
  ]);
});

test('phases and round trips are histograms in seconds', async () => {
  const { scrape, events } = await canaries([{ ...HOME, verdict: 'ok' }]);
  events.emit({ type: 'canary.round_trip', ...HOME, durationMs: 450 });
  events.emit({ type: 'canary.phase', ...HOME, phase: 'logged', durationMs: 12_000 });
  const samples = await scrape();
  expect(samples.get(`msgsvc_canary_round_trip_seconds_sum{${LABELS}}`)).toBe(0.45);
  expect(samples.get(`msgsvc_canary_round_trip_seconds_bucket{le="0.25",${LABELS}}`)).toBe(0);
  expect(samples.get(`msgsvc_canary_round_trip_seconds_bucket{le="0.5",${LABELS}}`)).toBe(1);
  expect(samples.get(`msgsvc_canary_phase_seconds_sum{${LABELS},phase="logged"}`)).toBe(12);
});

test('without canaries there is no series of them', async () => {
  const samples = await (await world()).scrape();
  // Series of the catalog itself name each metric.
  expect([...samples.keys()].filter((series) => series.startsWith('msgsvc_canary_'))).toEqual([]);
});
