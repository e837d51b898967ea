import { describe, expect, test } from 'vitest';
import { catalogLines, catalogMarkdown } from '#observe/catalog/text.ts';
import { METRIC_NAMES, labelNamesOf, specOf } from '#observe/catalog/catalog.ts';
import { chunkText, headerText, labelText } from '#observe/metrics/exposition-text.ts';
import { observe, SeriesTable, setValue } from '#observe/metrics/series.ts';
import { installed } from '../../support/program.ts';
import { promtoolSays } from '../../support/promtool.ts';
import { publishEverything, seriesOf, world } from '../metrics/world.ts';

describe('the catalog and the exposition', () => {
  test('every metric is exposed as in the catalog, and no other', async () => {
    const text = await (await world()).text();
    const exposed = (what: 'HELP' | 'TYPE') =>
      Object.fromEntries(
        [...text.matchAll(new RegExp(`^# ${what} (\\S+) (.*)$`, 'gm'))].map(([, name, rest]) => [name, rest]),
      );
    expect(exposed('TYPE')).toEqual(Object.fromEntries(METRIC_NAMES.map((name) => [name, specOf(name).type])));
    expect(exposed('HELP')).toEqual(Object.fromEntries(METRIC_NAMES.map((name) => [name, specOf(name).help])));
  });

  test('every metric that a collector feeds has a series once its collector has run, and counts in opsd_series', async () => {
    const everything = await world({ metrics: { latencyUnit: 'ms', workflowDlqLabels: true } });
    publishEverything(everything);
    const samples = await everything.scrape();
    const fed = METRIC_NAMES.filter((name) => specOf(name).collector !== undefined);
    expect(fed.length).toBeGreaterThan(50);
    for (const name of fed) {
      expect.soft(Object.keys(seriesOf(samples, name)), name).not.toEqual([]);
      const series = samples.get(`opsd_series_by_family{family="${name}"}`);
      expect.soft(series, name).toBe(Object.keys(seriesOf(samples, name)).length);
    }
  });
});

/** Rules of `promtool check metrics` for names, and those of the design. */
describe('names', () => {
  const NOT_BASE_UNITS =
    /_(milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|bits|percent|kilobytes|megabytes|gigabytes)(_|$)/;
  const ABBREVIATIONS = /_(s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(_|$)/;
  const TYPE_WORDS = /(^|_)(gauge|counter|histogram|summary|untyped)(_|$)/;
  const UNIT_SUFFIX: Readonly<Record<string, string>> = {
    seconds: '_seconds',
    timestamp: '_seconds',
    bytes: '_bytes',
    dollars: '_dollars',
  };

  test.each(METRIC_NAMES)('%s', (name) => {
    const spec = specOf(name);
    const base = name.replace(/_total$/, '');
    expect.soft(name).toMatch(/^(msgsvc|opsd|process|nodejs)(_[a-z][a-z0-9]*)+$/);
    expect.soft(name.endsWith('_total')).toBe(spec.type === 'counter');
    expect.soft(name.endsWith('_info')).toBe(spec.unit === 'info');
    expect.soft(name).not.toMatch(/_(bucket|count|sum)$/);
    expect.soft(name).not.toMatch(TYPE_WORDS);
    expect.soft(name).not.toMatch(NOT_BASE_UNITS);
    expect.soft(name).not.toMatch(ABBREVIATIONS);
    expect.soft(base).toMatch(new RegExp(`${UNIT_SUFFIX[spec.unit] ?? ''}$`));
    if (spec.unit === 'timestamp' && name !== 'process_start_time_seconds') {
      expect.soft(name).toMatch(/_timestamp_seconds$/);
    }
    expect.soft(spec.help).toMatch(/^\S.*\.$/);
    expect.soft(spec.source).not.toBe('');
  });

  test.each(METRIC_NAMES)('labels of %s', (name) => {
    const labels = labelNamesOf(name);
    expect.soft(new Set(labels).size).toBe(labels.length);
    for (const label of labels) {
      expect.soft(label).toMatch(/^[a-z][a-z0-9_]*$/);
      expect.soft(['region', 'service', 'type', 'job', 'instance', 'le', 'quantile']).not.toContain(label);
    }
    const concernsAnAccount = /^msgsvc_|^opsd_(collector|api|policy|action|logs|workflow)_/.test(name);
    if (concernsAnAccount) expect.soft(labels[0]).toBe('account');
    expect.soft(labels.indexOf('account')).toBeLessThanOrEqual(0);
  });
});

test('the catalog as text names every metric once', () => {
  const markdown = catalogMarkdown();
  const table = catalogLines();
  for (const name of METRIC_NAMES) {
    expect.soft(markdown.match(new RegExp(`\`${name}[{\`]`, 'g')), name).toHaveLength(1);
    expect
      .soft(
        table.split('\n').filter((line) => line.startsWith(`${name} `)),
        name,
      )
      .toHaveLength(1);
  }
});

test('promtool reports nothing for the whole catalog with a value for each metric', async ({ skip }) => {
  const promtool = installed('promtool');
  if (promtool === undefined) skip('promtool is not installed');
  const parts = METRIC_NAMES.map((name) => {
    const table = new SeriesTable(name, specOf(name), labelNamesOf(name));
    const child = table.create(table.labelNames.map((label) => labelText(label, 'a "b" \\ c')).join(','));
    const { buckets } = table.spec;
    if (buckets === undefined) setValue(child, 1);
    else observe(child, { buckets: [...buckets.map(() => 1), 1], sum: 3 });
    return headerText(table, 'text') + [...table.chunks].map((chunk) => chunkText(table, chunk, 'text')).join('');
  });
  expect(await promtoolSays(promtool!, parts.join(''))).toBe('');
});
