/**
 * The preview page: values in words, and the panels that it reports as empty. The system tests render the real ones.
 */
import { expect, test } from 'vitest';
import type { Answer } from '../support/grafana/answers.ts';
import type { Panel } from '../support/grafana/dashboard.ts';
import { settingsOf, shown } from '../support/preview/fields.ts';
import { pageOf } from '../support/preview/page.ts';
import { written } from '../support/preview/units.ts';
import type { Series } from '../support/prometheus.ts';

const NOW = 1_800_000_000_000;

test.each([
  [0.25, 'percentunit', '25%'],
  [0, 's', '0 s'],
  [0.0123, 's', '12.3 ms'],
  [5_400, 's', '1.5 hours'],
  [90, 's', '1.5 min'],
  [1_536, 'bytes', '1.5 KiB'],
  [1_536, 'Bps', '1.5 KiB/s'],
  [1_234, 'short', '1.23 K'],
  [12_345.6, 'locale', '12,345.6'],
  [12.5, 'currencyUSD', '$12.5'],
  [2, 'mps', '2 mps'],
  [1, 'bool_yes_no', 'Yes'],
  [Infinity, 'currencyUSD', '∞'],
  [NOW - 120_000, 'dateTimeFromNow', '2 min ago'],
  [NOW + 120_000, 'dateTimeFromNow', 'in 2 min'],
])('%s in %s is %s', (value, unit, expected) => {
  expect(written(value, unit, NOW)).toBe(expected);
});

const PANEL: Panel = {
  id: 7,
  type: 'timeseries',
  title: 'Rate <b>',
  gridPos: { x: 0, y: 0, w: 24, h: 8 },
  fieldConfig: {
    defaults: {
      unit: 's',
      noValue: 'nothing waits',
      thresholds: {
        steps: [
          { color: 'green', value: null },
          { color: 'dark-red', value: 10 },
        ],
      },
      mappings: [
        { type: 'value', options: { 0: { text: 'none', color: 'blue' }, Infinity: { text: 'unlimited' } } },
        { type: 'range', options: { from: 20, to: null, result: { text: 'never' } } },
        { type: 'special', options: { match: 'null+nan', result: { color: 'text' } } },
      ],
    },
    overrides: [{ matcher: { id: 'byName', options: 'Cost' }, properties: [{ id: 'unit', value: 'currencyUSD' }] }],
  },
};

test('a mapping precedes the unit, a threshold sets the color, an override is for one name', () => {
  const look = (value: number, name = 'x') => shown(value, settingsOf(PANEL, name), NOW);
  expect(look(0)).toEqual({ text: 'none', colour: '#5794f2' });
  expect(look(Infinity).text).toBe('unlimited');
  expect(look(5)).toEqual({ text: '5 s', colour: '#73bf69' });
  expect(look(10)).toEqual({ text: '10 s', colour: '#f2495c' });
  expect(look(10, 'Cost').text).toBe('$10');
  // As in Grafana, a range without an end contains nothing above 0.
  expect(look(30).text).toBe('30 s');
});

test('a panel without data has its own message, and no part of a title or a label is treated as HTML', () => {
  const page = (series: readonly Series[]): string => {
    const answer: Answer = { panel: PANEL, target: { refId: 'A' }, isInstant: false, promql: 'x', series };
    const view = { fromMs: NOW - 3_600_000, toMs: NOW, choices: new Map() };
    const dashboard = { uid: 'a', title: 'A', panels: [PANEL], templating: { list: [] }, annotations: { list: [] } };
    return pageOf(dashboard, [answer], view);
  };
  const empty = page([]);
  expect(empty).toContain('data-state="empty"');
  expect(empty).toContain('nothing waits');
  const full = page([{ metric: { le: '</script>' }, points: [[NOW / 1_000, 1]] }]);
  expect(full).toContain('data-state="data"');
  expect(full).not.toContain('<b>');
  expect(full.match(/<\/script>/g)).toHaveLength(2);
});
