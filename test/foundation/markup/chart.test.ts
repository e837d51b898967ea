/** Charts: their numbers are those they are given, a missing value is a gap, and no text becomes markup. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bars, timeChart, trend, type TimeChart } from '#foundation/markup/cell.ts';
import { barsPath, linePath, stacked, timeTicks, valueTicks } from '#foundation/markup/chart-paths.ts';
import { sparkHtml, stripHtml, timeChartHtml } from '#foundation/markup/chart.ts';

const FROM = Date.UTC(2026, 10, 26, 18, 30);
const CHART: TimeChart = timeChart({
  title: 'Deliveries',
  from: FROM,
  stepMs: 60_000,
  isStacked: true,
  format: String,
  series: [
    { name: 'delivered', look: 'ok', shape: 'area', values: [3, 4, null, 5] },
    { name: 'failed', look: 'trouble', shape: 'area', values: [0, 1, 2, null] },
  ],
});

describe('a chart over time', () => {
  test('has each value in the title of its step, and in its table', () => {
    const markup = timeChartHtml(CHART).toString();
    const titles = [...markup.matchAll(/<rect[^>]*><title>([^<]*)<\/title>/g)].map(([, title]) => title);
    expect(titles).toEqual([
      '18:30\n3 delivered\n0 failed',
      '18:31\n4 delivered\n1 failed',
      '18:32\n2 failed',
      '18:33\n5 delivered',
    ]);
    const rows = [...markup.matchAll(/<tr>(?:(?!<tr>).)*<\/tr>/gs)].map(([row]) =>
      [...row.matchAll(/<t[hd][^>]*>(?:<[^>]*>)?([^<]*)/g)].map(([, cell]) => cell!.trim()),
    );
    expect(rows.slice(1)).toEqual([
      ['18:30', '3', '0'],
      ['18:31', '4', '1'],
      ['18:32', 'unknown', '2'],
      ['18:33', '5', 'unknown'],
    ]);
  });

  test('says that nothing is known of a step', () => {
    const markup = timeChartHtml({ ...CHART, series: [{ ...CHART.series[0]!, values: [null] }] }).toString();
    expect(markup).toContain('<title>18:30\nunknown</title>');
  });

  test('shows all marks of its period, with texts where there is room, and links', () => {
    const marks = [0, 1, 2, 3].map((minute) => ({
      at: FROM + minute * 1_000,
      look: 'busy' as const,
      text: `mark ${minute}`,
      path: `/plans/${minute}`,
    }));
    const outside = { at: FROM - 1, look: 'busy' as const, text: 'before' };
    const markup = timeChartHtml({ ...CHART, marks: [...marks, outside] }).toString();
    expect([...markup.matchAll(/<a class="mark busy" href="\/plans\/(\d)">/g)].map(([, id]) => id)).toEqual([
      '0',
      '1',
      '2',
      '3',
    ]);
    expect([...markup.matchAll(/<text x="[^"]+" y="(\d+)"[^>]*>mark/g)].map(([, y]) => y)).toEqual(['10', '23']);
    expect(markup).not.toContain('before');
  });

  test('no text of it becomes markup', () => {
    const hostile = '"><script>alert(1)</script>';
    const markup = timeChartHtml({
      ...CHART,
      title: hostile,
      series: [{ ...CHART.series[0]!, name: hostile }],
      format: () => hostile,
      limit: { name: hostile, value: 1 },
      marks: [{ at: FROM, look: 'ok', text: hostile, path: `/${hostile}` }],
    }).toString();
    expect(markup).not.toContain('<script');
    const items = [{ look: 'ok', text: hostile, height: 1 }] as const;
    expect(stripHtml({ piece: 'strip', items, about: hostile, highest: 1 }).toString()).not.toContain('<script');
    expect(sparkHtml(bars([1], hostile)!).toString()).not.toContain('<script');
  });
});

describe('outlines', () => {
  const scale = { count: 4, highest: 10 };

  test('a missing value is a gap, and a value without neighbors is as long as its step', () => {
    expect(linePath([0, 5, null, 10], scale)).toBe('M125 100L375 50M750 0H1000');
    expect(barsPath([null, 10, 0, null], undefined, scale)).toBe('M270 100v-100h210v100z');
  });

  test('a stack is unknown above an unknown value', () => {
    expect(stacked(CHART.series.map(({ values }) => values)).map(({ high }) => high)).toEqual([
      [3, 4, null, 5],
      [3, 5, null, null],
    ]);
  });

  test('a small chart needs something to show', () => {
    expect(bars([0, null], 'nothing')).toBeUndefined();
    expect(trend([null, 3], 'one value')).toBeUndefined();
    expect(trend([0, 0], 'zeros')).toBeDefined();
  });
});

describe('ticks', () => {
  test('cover the highest value with at most six round values', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), fc.boolean(), (highest, isWhole) => {
        const ticks = valueTicks(highest, isWhole);
        if (isWhole) expect(ticks.filter((tick) => !Number.isInteger(tick))).toEqual([]);
        expect(ticks[0]).toBe(0);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest * (1 - 1e-9));
        expect(ticks.length).toBeLessThanOrEqual(6);
        expect(ticks.length < 3 || ticks.at(-2)! < highest).toBe(true);
      }),
    );
    expect(valueTicks(0)).toEqual([0, 0.25]);
  });

  test('of times are round, inside of the period, and at most seven', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 60_000, max: 40 * 86_400_000 }),
        (from, length) => {
          const ticks = timeTicks(from, from + length);
          expect(ticks.length).toBeLessThanOrEqual(7);
          for (const { at } of ticks) {
            expect(at % 60_000).toBe(0);
            expect(at).toBeGreaterThanOrEqual(from);
            expect(at).toBeLessThanOrEqual(from + length);
          }
        },
      ),
    );
    expect(timeTicks(FROM, FROM + 3 * 3_600_000).map(({ text }) => text)[1]).toBe('19:00');
  });
});
