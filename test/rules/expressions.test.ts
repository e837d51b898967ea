/**
 * Selections of the rules' expressions: known series, gauges that do not vanish, thresholds from their single source.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { FAST_BURN, GAUGE_RANGE, SLOW_BURN, THRESHOLDS } from '../../deploy/prometheus/thresholds.ts';
import { catalog, isMetricName, METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { readPromql, type PromqlReading } from '../support/promql.ts';
import { labelsOfRules } from '../support/rule-labels.ts';

const SOURCES = join(import.meta.dirname, '../../deploy/prometheus/rules');

interface Expression {
  readonly what: string;
  readonly reading: PromqlReading;
  readonly keepFiringFor?: string;
}

const records: Expression[] = RECORDING_GROUPS.flatMap(({ rules }) => rules).map(({ record, expr, labels = {} }) => {
  const reading = readPromql(expr, labelsOfRules);
  return { what: record, reading: { ...reading, labels: reading.labels.union(new Set(Object.keys(labels))) } };
});

const alerts: Expression[] = ALERT_GROUPS.flatMap(({ rules }) => rules).map(
  ({ alert, severity, expr, keepFiringFor }) => ({
    what: `${alert}, ${severity}`,
    reading: readPromql(expr, labelsOfRules),
    ...(keepFiringFor === undefined ? {} : { keepFiringFor }),
  }),
);

/** Metrics that are withheld while their source is not read. */
const WITHHELD = METRIC_NAMES.filter((name) => specOf(name).type === 'gauge' && specOf(name).collector !== undefined);

function vanishing({ what, reading, keepFiringFor }: Expression): string[] {
  if (keepFiringFor !== undefined && seconds(keepFiringFor) >= seconds(GAUGE_RANGE)) return [];
  // A value may be read as it is if the same expression also reads it over a range, for the time without it.
  const isLong = ({ call, window = '0s' }: PromqlReading['selectors'][number]): boolean =>
    call.endsWith('_over_time') && seconds(window) >= seconds(GAUGE_RANGE);
  const withRange = new Set(reading.selectors.filter(isLong).map(({ metric }) => metric));
  return reading.selectors
    .filter(({ metric }) => (WITHHELD as readonly string[]).includes(metric))
    .filter((selector) => !isLong(selector) && (selector.call !== '' || !withRange.has(selector.metric)))
    .map(({ metric }) => `${what}: ${metric}`);
}

/** Returns the account series of an alert without an account label. */
function withoutAccount({ what, reading }: Expression): string[] {
  if (reading.labels.has('account')) return [];
  return reading.selectors
    .filter(({ metric }) => labelsOfRules(metric)?.includes('account'))
    .map(({ metric }) => `${what}: ${metric}`);
}

/** Returns numbers in comparisons, in the text of a source. 0 and 1 are not thresholds, and states use equality. */
function numbersCompared(source: string): string[] {
  return [...source.matchAll(/[<>]=?\s*(?:bool\s+)?(\d[\d._]*)/g)]
    .map((match) => match[1]!)
    .filter((number) => number !== '0' && number !== '1');
}

function seconds(duration: string): number {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
  const [, number, unit] = /^(\d+)([smhd])/.exec(duration) ?? [];
  return Number(number) * units[unit ?? '']!;
}

const reading = (expr: string): Expression => ({ what: 'x', reading: readPromql(expr, labelsOfRules) });

test.each([...records, ...alerts].map((each) => [each.what, each] as const))(
  '%s parses, and uses existing series and labels',
  (what, { reading }) => {
    expect(reading.problems).toEqual([]);
    if (what !== 'OpsdHeartbeat, none') expect(reading.selectors.length).toBeGreaterThan(0);
  },
);

test.each(records.map((each) => [each.what, each] as const))('%s has the labels of its level', (name, { reading }) => {
  const level = name.slice(0, name.indexOf(':'));
  const words = (text: string): string => text.split('_').sort().join('_');
  expect(words([...reading.labels].join('_'))).toBe(words(level));
});

describe('gauges that may be withheld do not end an alert when they are', () => {
  test('they are read over a range, or the alert keeps firing', () => {
    expect([...records, ...alerts].flatMap(vanishing)).toEqual([]);
  });

  test.each([
    ['read as it is', 'msgsvc_account_dlq_messages > 1'],
    ['read over too short a range', 'last_over_time(msgsvc_account_dlq_messages[5m]) > 1'],
    ['its derivative', 'delta(msgsvc_account_dlq_messages[1h]) > 1'],
  ])('finds one that is %s', (_what, expr) => {
    expect(vanishing(reading(expr))).toEqual(['x: msgsvc_account_dlq_messages']);
    expect(vanishing({ ...reading(expr), keepFiringFor: '15m' })).toEqual([]);
    expect(vanishing({ ...reading(expr), keepFiringFor: '5m' })).not.toEqual([]);
  });
});

describe('an alert about an account names it', () => {
  test('all of them', () => {
    expect(alerts.flatMap(withoutAccount)).toEqual([]);
  });

  test('finds one that does not', () => {
    expect(withoutAccount(reading('sum by (api) (msgsvc_up) == 0'))).toEqual(['x: msgsvc_up']);
  });
});

describe('thresholds', () => {
  test('are not written into the rules', () => {
    const found = readdirSync(SOURCES).flatMap((file) =>
      numbersCompared(readFileSync(join(SOURCES, file), 'utf8')).map((number) => `${file}: ${number}`),
    );
    expect(found).toEqual([]);
  });

  test.each(['x > 0.8', 'x >= 10', 'x < 7_200', 'x > bool 5'])('finds that of %s', (source) => {
    expect(numbersCompared(source)).toHaveLength(1);
  });

  test.each(['x > 0', 'x == 2', '${x} > ${ratio}', '> y * 2'])('passes %s', (source) => {
    expect(numbersCompared(source)).toEqual([]);
  });

  test('of latencies are bounds of their histograms: between two bounds a quantile is a guess', () => {
    const { attemptSeconds, queueWaitSeconds, deliverySeconds } = THRESHOLDS.latency;
    expect(catalog.msgsvc_message_attempt_duration_seconds.buckets).toContain(attemptSeconds);
    expect(catalog.msgsvc_message_queue_wait_seconds.buckets).toContain(queueWaitSeconds);
    expect(catalog.msgsvc_message_delivery_duration_seconds.buckets).toContain(deliverySeconds);
  });

  test.each([...FAST_BURN, ...SLOW_BURN])('a short window is a twelfth of the long one: %o', ({ long, short }) => {
    expect(seconds(long) / seconds(short)).toBe(12);
  });
});

test('no bucket is selected by its bound, which versions of Prometheus write differently', () => {
  const matched = [...records, ...alerts].flatMap(({ reading }) =>
    reading.selectors.flatMap(({ matchers }) => matchers),
  );
  expect(matched.length).toBeGreaterThan(10);
  expect(matched.filter(({ label }) => label === 'le')).toEqual([]);
});

test('each counter is read as an increase, not as a value', () => {
  // The series of the owners stay counters, or states, which only recorded expressions read.
  const expressions = [...records.filter(({ what }) => !what.endsWith(':owner')), ...alerts];
  const wrong = expressions.flatMap(({ what, reading }) =>
    reading.selectors
      .filter(
        ({ metric }) => /(?<!_info):owner$/.test(metric) || (isMetricName(metric) && specOf(metric).type === 'counter'),
      )
      .filter(({ call }) => !['rate', 'increase', 'present_over_time'].includes(call))
      .map(({ metric }) => `${what}: ${metric}`),
  );
  // This one compares with the value of eight days ago.
  expect(wrong).toEqual(['MsgsvcBillingAnomaly, warning: msgsvc_account_billing_dollars_total']);
});
