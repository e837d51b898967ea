/** Compares the text of a scrape with that of prom-client for the same writes. */
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Counter, Gauge, Histogram, Registry, type OpenMetricsContentType } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { labelNamesOf, METRIC_NAMES, specOf, type MetricName } from '#observe/catalog/catalog.ts';
import { createExposition } from '#observe/metrics/exposition.ts';
import { Families } from '#observe/metrics/families.ts';
import { gzipParts } from '#observe/metrics/gzip-parts.ts';
import type { Format } from '#observe/metrics/series.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { NOW, publishEverything, world } from './world.ts';

const FORMATS = ['text', 'openmetrics'] as const satisfies readonly Format[];

function bench() {
  const clock = new ManualClock(NOW);
  const limiter = { admit: (_account: string, _label: string, value: string) => value };
  const families = new Families({
    limiter,
    clock,
    zeroForMs: 0,
    maxSeries: Infinity,
    debug: true,
    onRefused: () => undefined,
  });
  const exposition = createExposition({
    tables: families.exposed,
    refresh: () => undefined,
    heldCounters: () => 0,
    textBehind: async () => '',
  });
  const text = async (format: Format): Promise<string> =>
    Buffer.concat((await exposition.render(format)).parts).toString('utf8');
  let shown: Iterable<readonly [string, number]> = [];
  const replace = families.part('process', (put) => {
    for (const [family, value] of shown) put(EXCHANGED, { family }, value);
  });
  /** Replaces the gauges of one metric. */
  const exchange = (values: typeof shown): void => {
    shown = values;
    replace();
  };
  return { clock, families, exposition, text, exchange };
}

/** A write to both. */
type Write =
  | { readonly kind: 'add'; readonly labels: readonly [string, string]; readonly by: number }
  | { readonly kind: 'observe'; readonly labels: readonly [string, string]; readonly value: number }
  | { readonly kind: 'set'; readonly labels: readonly [string]; readonly value: number }
  | { readonly kind: 'exchange'; readonly values: ReadonlyMap<string, number> }
  | { readonly kind: 'scrape'; readonly format: (typeof FORMATS)[number] };

// Excludes `,` and `:`, because prom-client joins the labels of a child with them.
const label = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', '→', ' '), maxLength: 3 });
const amount = fc.oneof(fc.nat(1_000), fc.double({ min: 0, max: 1e6, noNaN: true }));
const writes: fc.Arbitrary<readonly Write[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('add'), labels: fc.tuple(label, label), by: amount }),
    fc.record({ kind: fc.constant('observe'), labels: fc.tuple(label, label), value: amount }),
    fc.record({ kind: fc.constant('set'), labels: fc.tuple(label), value: amount }),
    fc.record({
      kind: fc.constant('exchange'),
      values: fc
        .array(fc.tuple(label, fc.oneof(amount, fc.constant(Infinity))), { maxLength: 6 })
        .map((entries) => new Map(entries)),
    }),
    fc.record({ kind: fc.constant('scrape'), format: fc.constantFrom(...FORMATS) }),
  ),
  { maxLength: 40 },
);

const COUNTER = 'opsd_api_request_retries_total';
const HISTOGRAM = 'opsd_action_duration_seconds';
const GAUGE = 'opsd_credential_rotated_timestamp_seconds';
const EXCHANGED = 'opsd_series_by_family';

/** Plain metrics of prom-client under the same names. */
function oracle(format: Format) {
  const registry = new Registry();
  if (format === 'openmetrics') speakOpenMetrics(registry);
  const options = (name: MetricName) => ({
    name,
    help: specOf(name).help,
    labelNames: labelNamesOf(name),
    registers: [registry],
  });
  const counter = new Counter(options(COUNTER));
  const histogram = new Histogram({ ...options(HISTOGRAM), buckets: [...specOf(HISTOGRAM).buckets!] });
  const gauge = new Gauge(options(EXCHANGED));
  return {
    apply(write: Write): void {
      if (write.kind === 'add') {
        const [api, operation] = write.labels;
        counter.inc({ account: 'a', api, operation }, write.by);
      } else if (write.kind === 'observe') {
        const [account, action] = write.labels;
        histogram.observe({ account, action }, write.value);
      } else if (write.kind === 'exchange') {
        gauge.reset();
        for (const [family, value] of write.values) gauge.set({ family }, value);
      }
    },
    lines: async () => samplesOf(await registry.metrics()),
  };
}

/** The type fixes the format at the registry's creation. */
function speakOpenMetrics(registry: Registry): void {
  (registry as unknown as Registry<OpenMetricsContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
}

/** Returns samples and types, sorted, without those that prom-client does not write. */
function samplesOf(text: string): string[] {
  const ours = [COUNTER.replace('_total', ''), HISTOGRAM, EXCHANGED];
  return text
    .split('\n')
    .filter((line) => ours.some((name) => line.replace(/^# (HELP|TYPE) /, '').startsWith(name)))
    .filter((line) => !/_created[ {]|opsd_series_/.test(line))
    .sort();
}

describe('the text of a scrape', () => {
  test('matches that of prom-client for the same writes, in any order of writes and scrapes', async () => {
    await fc.assert(
      fc.asyncProperty(writes, async (all) => {
        const { families, text, exchange } = bench();
        const oracles = { text: oracle('text'), openmetrics: oracle('openmetrics') };
        for (const write of all) {
          for (const format of FORMATS) oracles[format].apply(write);
          if (write.kind === 'add') {
            const [api, operation] = write.labels;
            families.add(COUNTER, { account: 'a', api, operation }, write.by);
          } else if (write.kind === 'observe') {
            const [account, action] = write.labels;
            families.observe(HISTOGRAM, { account, action }, write.value);
          } else if (write.kind === 'set') {
            families.set(GAUGE, { account: 'a', credential: write.labels[0] }, NOW / 1_000 + write.value);
          } else if (write.kind === 'exchange') {
            exchange(write.values);
          } else {
            expect(samplesOf(await text(write.format))).toEqual(await oracles[write.format].lines());
          }
        }
        for (const format of FORMATS) expect(samplesOf(await text(format))).toEqual(await oracles[format].lines());
      }),
      { numRuns: 150 },
    );
  });

  test('is consistent, however many writes occur during its rendering', async () => {
    const { text, exchange } = bench();
    const show = (value: number, count: number): void =>
      exchange(Array.from({ length: count }, (_, at) => [`f${at}`, value] as const));
    const values = (rendered: string): Record<string, number> => {
      const found = rendered.matchAll(/^opsd_series_by_family\{.*\} (\d+)$/gm);
      return Object.fromEntries(
        [...Map.groupBy(found, ([, value]) => value!)].map(([value, all]) => [value, all.length]),
      );
    };
    show(1, 10_000);
    const first = text('text');
    // Writes during the rendering: after its first turn, and again.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    show(2, 9_000);
    await new Promise((resolve) => setImmediate(resolve));
    show(3, 11_000);
    expect(values(await first)).toEqual({ 1: 10_000 });
    expect(values(await text('text'))).toEqual({ 3: 11_000 });
    expect(values(await text('openmetrics'))).toEqual({ 3: 11_000 });
    show(4, 1);
    expect(values(await text('text'))).toEqual({ 4: 1 });
  });

  test('is rendered again only where something changed, and shared by concurrent scrapes', async () => {
    const { families, exposition } = bench();
    for (let at = 0; at < 5_000; at++) families.add(COUNTER, { account: 'a', api: 'message', operation: `o${at}` });
    const [first, same] = await Promise.all([exposition.render('text'), exposition.render('text')]);
    expect(same).toBe(first);
    families.add(COUNTER, { account: 'a', api: 'message', operation: 'o4999' });
    families.add(COUNTER, { account: 'a', api: 'message', operation: 'o7' }, 0);
    const second = await exposition.render('text');
    const kept = second.parts.filter((part) => first.parts.includes(part));
    expect(kept.length).toBeGreaterThanOrEqual(first.parts.length - 3);
    expect(kept.length).toBeLessThan(second.parts.length);
  });

  test('yields turns of the event loop during its rendering, and needs none where nothing changed', async () => {
    const { families, exposition } = bench();
    const add = (count: number): void => {
      for (let at = 0; at < count; at++) families.add(COUNTER, { account: 'a', api: 'message', operation: `o${at}` });
    };
    const turnsOf = async (): Promise<number> => {
      let turns = 0;
      const state = { rendered: false };
      const body = exposition.render('text').finally(() => (state.rendered = true));
      while (!state.rendered) {
        await new Promise((resolve) => setImmediate(resolve));
        turns += 1;
      }
      await body;
      return turns;
    };
    add(40_000);
    expect(await turnsOf()).toBeGreaterThanOrEqual(9);
    expect(await turnsOf()).toBeLessThanOrEqual(2);
    add(1);
    expect(await turnsOf()).toBeLessThanOrEqual(2);
  });

  test('is gzipped as one stream with the same bytes', async () => {
    const { families, exposition } = bench();
    for (let at = 0; at < 3_000; at++) families.add(COUNTER, { account: 'é', api: 'message', operation: `o${at}` });
    for (const format of FORMATS) {
      const body = await exposition.render(format);
      const packed = Buffer.concat(await body.gzip());
      expect(gunzipSync(packed).equals(Buffer.concat(body.parts))).toBe(true);
      expect(packed.length).toBeLessThan(Buffer.concat(body.parts).length / 5);
      expect(await body.gzip()).toBe(await body.gzip());
    }
  });
});

test('gzip of parts is correct whichever of them changed', async () => {
  const piece = fc.nat(255).map((byte) => ({ byte, bytes: 40_000 + byte }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(29), piece), { maxLength: 8 }),
      async (begin, changes) => {
        const make = ({ byte, bytes }: { byte: number; bytes: number }): Buffer => Buffer.alloc(bytes, byte);
        const parts = begin.map(make);
        for (const [at, piece] of [[0, undefined] as const, ...changes]) {
          if (piece !== undefined) parts.splice(at % (parts.length + 1), at % 3 === 0 ? 0 : 1, make(piece));
          const packed = Buffer.concat(await gzipParts([...parts]));
          expect(gunzipSync(packed).equals(Buffer.concat(parts))).toBe(true);
        }
      },
    ),
    { numRuns: 15 },
  );
});

describe('OpenMetrics', () => {
  test('has units, times of creation, escaped help and an end', async () => {
    const { families, text } = bench();
    families.add('opsd_api_throttle_wait_seconds_total', { account: 'a', api: 'message' }, 1.5);
    families.observe('opsd_action_duration_seconds', { account: 'a', action: 'x' }, 0.3);
    expect(await text('text')).not.toMatch(/_created[ {]|# UNIT|# EOF/);
    const lines = (await text('openmetrics')).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE opsd_api_throttle_wait_seconds counter',
        '# UNIT opsd_api_throttle_wait_seconds seconds',
        'opsd_api_throttle_wait_seconds_total{account="a",api="message"} 1.5',
        `opsd_api_throttle_wait_seconds_created{account="a",api="message"} ${NOW / 1_000}`,
        `opsd_action_duration_seconds_created{account="a",action="x"} ${NOW / 1_000}`,
      ]),
    );
    expect(lines.slice(-2)).toEqual(['# EOF', '']);
    for (const line of lines) if (line.startsWith('# HELP')) expect(line).not.toMatch(/(?<!\\)"/);
  });

  test('names no sample twice, with any suffixes', () => {
    const names = METRIC_NAMES.flatMap((name) => {
      const family = name.replace(/_total$/, '');
      const { type } = specOf(name);
      if (type === 'gauge') return [name];
      return [
        family,
        `${family}_created`,
        ...(type === 'counter' ? [name] : ['_bucket', '_count', '_sum'].map((s) => name + s)),
      ];
    });
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('carries exemplars of histograms, the newest of each bucket', async () => {
    const { families, clock, text } = bench();
    const labels = { account: 'a', api: 'message', operation: 'list-logs' };
    const span = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) });
    families.observe('opsd_api_request_duration_seconds', labels, 0.2, span('a'));
    families.observe('opsd_api_request_duration_seconds', labels, 0.15, span('b'));
    families.observe('opsd_api_request_duration_seconds', labels, 60, span('c'));
    families.observe('opsd_api_request_duration_seconds', labels, 0.2);
    const at = clock.now() / 1_000;
    const rest = 'account="a",api="message",operation="list-logs"';
    const expected = [
      `opsd_api_request_duration_seconds_bucket{le="0.25",${rest}} 3 # {trace_id="${'b'.repeat(32)}",span_id="${'b'.repeat(16)}"} 0.15 ${at}`,
      `opsd_api_request_duration_seconds_bucket{le="0.5",${rest}} 3`,
      `opsd_api_request_duration_seconds_bucket{le="+Inf",${rest}} 4 # {trace_id="${'c'.repeat(32)}",span_id="${'c'.repeat(16)}"} 60 ${at}`,
    ];
    expect((await text('openmetrics')).split('\n')).toEqual(expect.arrayContaining(expected));
    expect(await text('text')).not.toContain('trace_id');
  });
});

test.each([true, false])('opsd_series is the number of samples in the text, with debug: %s', async (debug) => {
  const everything = await world({ metrics: { latencyUnit: 's', debug } });
  publishEverything(everything);
  const samples = await everything.scrape();
  expect(samples.get('opsd_series')).toBe(samples.size);
  const byFamily = [...samples].filter(([series]) => series.startsWith('opsd_series_by_family{'));
  expect(byFamily.reduce((sum, [, n]) => sum + n, 0)).toBe(debug ? samples.size : 0);
});
