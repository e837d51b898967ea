import { describe, expect, test, vi } from 'vitest';
import { METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { deliverySpanOf } from '#observe/tracing/span-sampling.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { spanIdOf, traceIdOf } from '#observe/tracing/trace-ids.ts';
import { RETIRED, type HistogramIncrement, type Increment } from '#observe/aggregation/totals.ts';
import { createTotals } from '#storage/totals.ts';
import { event } from '../../support/events.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { NOW, seriesOf, world, type World } from './world.ts';

const created = (destination: string, by: number): Increment => ({
  metric: 'msgsvc_messages_created_total',
  labels: [destination],
  by,
});
const createdOf = (destination: string): string =>
  `msgsvc_messages_created_total{account="prod",destination="${destination}"}`;
const DURATION = 'msgsvc_message_delivery_duration_seconds';

/** Commits increments and histograms of `prod`. */
async function commit(
  totals: World['totals'],
  histograms: readonly HistogramIncrement[],
  ...increments: Increment[]
): Promise<void> {
  await totals.commit('prod', () => ({ increments, histograms }));
}

/** Lets reads of the totals fail until `mockRestore`. */
function unreadable(totals: World['totals']) {
  return vi.spyOn(totals, 'follow').mockRejectedValue(new Error('disk I/O error'));
}

describe('totals of the store', () => {
  test('are read once, and then follow the commits', async () => {
    const { totals, scrape } = await world({ stored: [created('a.example', 3)] });
    const reads = vi.spyOn(totals, 'follow');
    expect((await scrape()).get(createdOf('a.example'))).toBe(3);
    await totals.add('prod', [created('a.example', 7), created('a.example', 1)]);
    await totals.add('prod', [created('b.example', 1)]);
    await totals.add('elsewhere', [created('a.example', 100)]);
    const samples = await scrape();
    expect(samples.get(createdOf('a.example'))).toBe(11);
    expect(samples.get(createdOf('b.example'))).toBe(1);
    expect(samples.get('opsd_projection_failures_total{source="store"}')).toBe(0);
    expect(reads).not.toHaveBeenCalled();
  });

  test('that cannot be read at the start are read later, with later additions, once', async () => {
    const totals = createTotals(memoryStore());
    const failures: Increment = {
      metric: 'msgsvc_message_failures_total',
      labels: ['a.example', 'http', '503'],
      by: 8,
    };
    await totals.add('prod', [failures, created('a.example', 3)]);
    const failing = unreadable(totals);
    // Values that are read late are not new, and never 0.
    const { scrape, text } = await world({ totals, metrics: { newSeriesZeroFor: '90s' } });
    await totals.add('prod', [created('a.example', 2)]);
    const failed = await scrape();
    expect(seriesOf(failed, 'msgsvc_messages_created_total')).toEqual({});
    expect(failed.get('opsd_projection_failures_total{source="store"}')).toBeGreaterThan(0);
    failing.mockRestore();
    const samples = await scrape();
    expect(samples.get(createdOf('a.example'))).toBe(5);
    expect(Object.values(seriesOf(samples, 'msgsvc_message_failures_total'))).toContain(8);
    expect(await text('openmetrics')).not.toContain(createdOf('a.example').replace('_total', '_created'));
    await totals.add('prod', [created('a.example', 1)]);
    expect((await scrape()).get(createdOf('a.example'))).toBe(6);
  });

  test('that cannot be read are absent: no counter of the store is 0', async () => {
    const totals = createTotals(memoryStore());
    await totals.add('prod', [created('a.example', 3)]);
    const failing = unreadable(totals);
    const { scrape } = await world({ totals });
    const mirrored = METRIC_NAMES.filter((name) => specOf(name).mirrored === true);
    const failed = await scrape();
    const shown = mirrored.filter((name) => Object.keys(seriesOf(failed, name)).length > 0);
    expect(shown).toEqual([]);
    failing.mockRestore();
    const samples = await scrape();
    expect(samples.get('msgsvc_log_events_total{account="prod",state="DELIVERED"}')).toBe(0);
    expect(samples.get('opsd_log_pages_total{account="prod"}')).toBe(0);
    expect(samples.get('opsd_spans_exported_total')).toBe(0);
    expect(samples.get('opsd_spans_dropped_total{reason="queue"}')).toBe(0);
  });

  test('whose stored value was rejected stay absent, whatever is added', async () => {
    const { totals, scrape } = await world({ stored: [created('a.example', -1)] });
    await totals.add('prod', [created('a.example', 2), created('b.example', 2)]);
    await totals.add('prod', [{ metric: 'msgsvc_messages_finished_total', labels: ['a.example'], by: 1 }]);
    expect(seriesOf(await scrape(), 'msgsvc_messages_created_total')).toEqual({ [createdOf('b.example')]: 2 });
  });

  test('are not updated after the end', async () => {
    const { totals, metrics, scrape } = await world({ stored: [created('a.example', 3)] });
    metrics[Symbol.dispose]();
    await totals.add('prod', [created('a.example', 2)]);
    expect((await scrape()).get(createdOf('a.example'))).toBe(3);
  });

  test('begin with zeroes: states, and for a destination its ends and failures', async () => {
    const { totals, scrape } = await world();
    const before = await scrape();
    expect(before.get('msgsvc_log_events_total{account="prod",state="DELIVERED"}')).toBe(0);
    expect(before.get('opsd_log_pages_total{account="prod"}')).toBe(0);
    expect(seriesOf(before, 'msgsvc_messages_created_total')).toEqual({});
    await totals.add('prod', [created('a.example', 1)]);
    const samples = await scrape();
    const destination = 'account="prod",destination="a.example"';
    for (const metric of ['messages_finished', 'message_cancellations', 'message_attempts']) {
      expect.soft(samples.get(`msgsvc_${metric}_total{${destination}}`), metric).toBe(0);
    }
    for (const metric of ['message_failures', 'message_attempt_failures']) {
      expect.soft(samples.get(`msgsvc_${metric}_total{${destination},reason="timeout",code=""}`), metric).toBe(0);
    }
    // Counted in the same series that had the zero.
    await totals.add('prod', [
      { metric: 'msgsvc_message_failures_total', labels: ['a.example', 'timeout', ''], by: 2 },
    ]);
    const failures = seriesOf(await scrape(), 'msgsvc_message_failures_total');
    expect(Object.entries(failures).filter(([, value]) => value > 0)).toEqual([
      [`msgsvc_message_failures_total{${destination},reason="timeout",code=""}`, 2],
    ]);
  });

  test('of destinations beyond the limit: new counts are other, old ones are not shown', async () => {
    const { totals, metrics, scrape } = await world({
      metrics: { labels: { destination: { max: 2 } } },
      stored: [created('a.example', 1), created('b.example', 2), created('z.example', 4), created('other', 3)],
    });
    expect(seriesOf(await scrape(), 'msgsvc_messages_created_total')).toEqual({
      [createdOf('a.example')]: 1,
      [createdOf('b.example')]: 2,
      [createdOf('other')]: 3,
    });
    const seen = ['c.example', 'a.example'].map((value) => metrics.admit('prod', 'destination', value));
    await totals.add('prod', [created(seen[0]!, 8), created(seen[1]!, 1), created('z.example', 16)]);
    const samples = await scrape();
    expect(seriesOf(samples, 'msgsvc_messages_created_total')).toEqual({
      [createdOf('a.example')]: 2,
      [createdOf('b.example')]: 2,
      [createdOf('other')]: 11,
    });
    expect(samples.get('opsd_label_values_overflowed_total{label="destination"}')).toBe(1);
    expect(metrics.admit('prod', 'destination', 'c.example')).toBe('other');
    expect(metrics.admit('prod', 'destination', 'a.example')).toBe('a.example');
    expect(metrics.admit('elsewhere', 'destination', 'c.example')).toBe('c.example');
  });

  test('of values that lost their place are not shown, and take no other’s place', async () => {
    const { totals, metrics, scrape } = await world({
      metrics: { labels: { destination: { max: 1 } } },
      stored: [created(RETIRED, 9)],
    });
    expect(seriesOf(await scrape(), 'msgsvc_messages_created_total')).toEqual({});
    await totals.add('prod', [created(metrics.admit('prod', 'destination', 'a.example'), 1)]);
    expect(seriesOf(await scrape(), 'msgsvc_messages_created_total')).toEqual({ [createdOf('a.example')]: 1 });
  });

  test('that the catalog does not know, or that are invalid, are rejected and counted', async () => {
    // What an earlier version wrote; no such name compiles today.
    // @ts-expect-error This is a counter, not a histogram.
    const odd: HistogramIncrement = { metric: 'msgsvc_messages_created_total', labels: ['a'], buckets: [1], sum: 1 };
    const { totals, scrape } = await world({
      stored: [
        // @ts-expect-error The catalog does not have this name.
        { metric: 'msgsvc_unheard_of_total', labels: [], by: 1 },
        // @ts-expect-error This is a gauge, not a counter.
        { metric: 'msgsvc_url_groups', labels: [], by: 1 },
        { metric: 'opsd_spans_exported_total', labels: [], by: 9 },
        { metric: 'msgsvc_messages_created_total', labels: ['a', 'b'], by: 1 },
        created('b.example', -1),
        created('c.example', Infinity),
        created('a.example', 2),
      ],
    });
    await commit(totals, [odd], created('d.example', Infinity));
    await scrape();
    const samples = await scrape();
    expect(samples.get('opsd_invalid_values_total{source="store"}')).toBe(8);
    expect(seriesOf(samples, 'msgsvc_messages_created_total')).toEqual({ [createdOf('a.example')]: 2 });
    expect(samples.get('opsd_spans_exported_total')).toBe(0);
  });
});

describe('histograms of the store', () => {
  const bounds: readonly number[] = specOf(DURATION).buckets!;
  const fell = (bucket: number, count: number, more: Partial<HistogramIncrement> = {}): HistogramIncrement => ({
    metric: DURATION,
    labels: ['a.example'],
    buckets: Array.from({ length: bounds.length + 1 }, (_, at) => (at === bucket ? count : 0)),
    sum: count * (bounds[bucket] ?? 1e6),
    ...more,
  });
  const le = (bound: string): string => `${DURATION}_bucket{le="${bound}",account="prod",destination="a.example"}`;

  test('continue from the stored values, bucket by bucket', async () => {
    const totals = createTotals(memoryStore());
    await commit(totals, [fell(0, 3), fell(bounds.length, 1)]);
    const { scrape } = await world({ totals, metrics: { newSeriesZeroFor: '90s' } });
    await commit(totals, [fell(0, 1), fell(2, 10)]);
    const samples = await scrape();
    const whole = '{account="prod",destination="a.example"}';
    expect([`${bounds[0]}`, `${bounds[1]}`, `${bounds[2]}`, '+Inf'].map((bound) => samples.get(le(bound)))).toEqual([
      4, 4, 14, 15,
    ]);
    expect(samples.get(`${DURATION}_count${whole}`)).toBe(15);
    expect(samples.get(`${DURATION}_sum${whole}`)).toBeCloseTo(4 * bounds[0]! + 10 * bounds[2]! + 1e6);
    expect(samples.get('msgsvc_messages_created_total{account="prod",destination="a.example"}')).toBe(0);
  });

  test('that appear later are 0 in all of their buckets first', async () => {
    const { totals, clock, scrape } = await world({ metrics: { newSeriesZeroFor: '90s' } });
    await commit(totals, [fell(1, 7)]);
    expect(Object.values(seriesOf(await scrape(), `${DURATION}_bucket`)).every((value) => value === 0)).toBe(true);
    await clock.advance(90_000);
    expect((await scrape()).get(le('+Inf'))).toBe(7);
  });

  test('that have other buckets than the catalog, or invalid counts, are rejected', async () => {
    const { totals, scrape } = await world();
    await commit(totals, [fell(0, 1, { buckets: [1] }), fell(0, 1, { sum: Infinity }), fell(0, -1), fell(1, 1)]);
    const samples = await scrape();
    expect(samples.get('opsd_invalid_values_total{source="store"}')).toBe(3);
    expect(samples.get(le('+Inf'))).toBe(1);
  });

  test('have exemplars in OpenMetrics for traced messages only', async () => {
    const traces = traceSettings.parse({ sampleRatio: 0.5 });
    const spanOf = (account: string, messageId: string) => deliverySpanOf(traces, account, messageId);
    const ids = Array.from({ length: 40 }, (_, at) => `msg_${at}`);
    const [traced] = ids.filter((id) => spanOf('prod', id) !== undefined);
    const [untraced] = ids.filter((id) => spanOf('prod', id) === undefined);
    const { totals, text } = await world({ deps: { spanOf } });
    const of = (messageId: string | undefined) => ({ messageId: messageId!, value: 0.2, at: NOW });
    await commit(totals, [fell(2, 1, { exemplars: [undefined, of(untraced), of(traced)] })]);
    const lines = (await text('openmetrics')).split('\n').filter((line) => line.includes('trace_id'));
    const ids128 = `trace_id="${traceIdOf('prod', traced!)}",span_id="${spanIdOf('prod', traced!, 'deliver')}"`;
    expect(lines).toEqual([`${le(`${bounds[2]}`)} 1 # {${ids128}} 0.2 ${NOW / 1_000}`]);
    expect(await text()).not.toContain('trace_id');
  });

  test('have no exemplars if deliveries belong to their producers’ traces, whose ids are unknown', () => {
    const traces = traceSettings.parse({ sampleRatio: 1, producer: 'parent' });
    expect(deliverySpanOf(traces, 'prod', 'msg_1')).toBeUndefined();
    expect(deliverySpanOf({ ...traces, producer: 'link' }, 'prod', 'msg_1')).toBeDefined();
  });
});

const duration = (destination: string, count: number): HistogramIncrement => {
  const buckets = [count, ...specOf(DURATION).buckets!.map(() => 0)];
  return { metric: DURATION, labels: [destination], buckets, sum: count };
};

describe('a counter that appears while the daemon runs', () => {
  const zeroFor = { metrics: { newSeriesZeroFor: '90s' } };

  test('is 0 for 90 s and then its value, with its failures and its creation time', async () => {
    const { totals, clock, scrape, text } = await world(zeroFor);
    await clock.advance(10_000);
    const since = clock.now() / 1_000;
    await totals.add('prod', [
      created('a.example', 40),
      { metric: 'msgsvc_message_failures_total', labels: ['a.example', 'http', '503'], by: 2 },
    ]);
    const failures = 'msgsvc_message_failures_total{account="prod",destination="a.example",reason="http",code="503"}';
    expect((await scrape()).get(createdOf('a.example'))).toBe(0);
    expect((await scrape()).get(failures)).toBe(0);
    const note =
      /^# \d+ new counters are 0 for a fixed time, then have their value: telemetry\.metrics\.newSeriesZeroFor\n/;
    expect(await text('text')).toMatch(note);
    expect(await text('openmetrics')).not.toContain('new counters');
    await clock.advance(89_999);
    await totals.add('prod', [created('a.example', 1)]);
    expect((await scrape()).get(createdOf('a.example'))).toBe(0);
    await clock.advance(1);
    const samples = await scrape();
    expect([samples.get(createdOf('a.example')), samples.get(failures)]).toEqual([41, 2]);
    expect(await text('text')).not.toContain('new counters');
    await totals.add('prod', [created('a.example', 1)]);
    const openMetrics = (await text('openmetrics')).split('\n');
    expect(openMetrics).toContain(`${createdOf('a.example')} 42`);
    expect(openMetrics).toContain(`${createdOf('a.example').replace('_total', '_created')} ${since}`);
  });

  test('has its real value at once for a browser, whatever scrapers see before and after', async () => {
    const { totals, clock, scrape, text } = await world(zeroFor);
    const current = async () => (await text('current')).split('\n');
    const expected = (value: number) => `${createdOf('a.example')} ${value}`;
    await commit(totals, [duration('a.example', 7)], created('a.example', 100));
    expect((await scrape()).get(createdOf('a.example'))).toBe(0);
    expect(await current()).toContain(expected(100));
    expect((await current())[0]).toBe(
      '# 17 new counters have their value here and are 0 for scrapers: telemetry.metrics.newSeriesZeroFor',
    );
    expect(await current()).toContain(`${DURATION}_count{account="prod",destination="a.example"} 7`);
    // Increments during the hold are shown too: no old text is kept.
    await commit(totals, [duration('a.example', 1)], created('a.example', 1));
    expect(await current()).toContain(expected(101));
    expect(await current()).toContain(`${DURATION}_count{account="prod",destination="a.example"} 8`);
    expect((await scrape()).get(createdOf('a.example'))).toBe(0);
    expect((await text('openmetrics')).split('\n')).toContain(expected(0));
    await clock.advance(90_000);
    expect((await scrape()).get(createdOf('a.example'))).toBe(101);
    expect(await current()).toContain(expected(101));
    expect(await text('current')).not.toContain('0 for scrapers');
  });

  test('waits for counters of the daemon itself too', async () => {
    const { events, clock, scrape } = await world(zeroFor);
    const skipped = 'opsd_api_invalid_rows_total{account="prod",operation="list-logs"}';
    events.emit(event('api.invalid_rows', { count: 3 }));
    events.emit({ type: 'deliveries.failing', reason: 'ENOSPC' });
    const before = await scrape();
    // The other counter existed from the start.
    expect([before.get(skipped), before.get('opsd_delivery_events_write_failures_total')]).toEqual([0, 1]);
    await clock.advance(90_000);
    expect((await scrape()).get(skipped)).toBe(3);
  });

  test('is not new when the store had it: its total is shown at once, without a creation time', async () => {
    const { text, scrape } = await world({ ...zeroFor, stored: [created('a.example', 40)] });
    expect((await scrape()).get(createdOf('a.example'))).toBe(40);
    expect(await text('openmetrics')).not.toContain(createdOf('a.example').replace('_total', '_created'));
  });
});
