/** The tests' model of Grafana: variables in queries, their choices, and when a panel is empty. */
import { describe, expect, test } from 'vitest';
import { annotationsOf, answersOf, scopeOf, type View } from '../support/grafana/answers.ts';
import { choose, choiceOf } from '../support/grafana/choices.ts';
import type { Dashboard, Panel, Target, Variable } from '../support/grafana/dashboard.ts';
import { isEmpty } from '../support/grafana/emptiness.ts';
import { gapsOf } from '../support/grafana/gaps.ts';
import { interpolate, stepOf, type Choice, type Scope } from '../support/grafana/variables.ts';
import type { Series } from '../support/prometheus.ts';

const HOUR = 3_600_000;

function scope(choices: Readonly<Record<string, Choice>> = {}, over: Partial<Scope> = {}): Scope {
  const toMs = Date.UTC(2026, 10, 22, 3);
  return {
    fromMs: toMs - HOUR,
    toMs,
    intervalMs: 15_000,
    scrapeIntervalMs: 15_000,
    choices: new Map(Object.entries(choices)),
    ...over,
  };
}

const one = (value: string): Choice => ({ kind: 'one', value });
const many = (...values: string[]): Choice => ({ kind: 'many', values });

describe('a variable in a query', () => {
  test.each([
    ['one value', { account: one('shop') }, 'x{account="$account"}', 'x{account="shop"}'],
    ['in braces', { account: one('shop') }, 'x{account="${account}"}', 'x{account="shop"}'],
    ['in the older form', { account: one('shop') }, 'x{account="[[account]]"}', 'x{account="shop"}'],
    ['one of several', { a: many('127.0.0.1:80') }, 'x{a=~"$a"}', String.raw`x{a=~"127\\.0\\.0\\.1:80"}`],
    ['several', { a: many('b.c', 'd|e') }, 'x{a=~"$a"}', String.raw`x{a=~"(b\\.c|d\\|e)"}`],
    ['all of them', { a: { kind: 'all', text: '.+' } satisfies Choice }, 'x{a=~"$a"}', 'x{a=~".+"}'],
    ['as a pattern', { a: many('b.c') }, '${a:regex}', String.raw`b\.c`],
    ['with pipes', { a: many('b', 'c') }, '${a:pipe}', 'b|c'],
    ['a group of label_replace stays', { a: one('x') }, 'label_replace(x, "d", "$1", "s", "(.*)")', undefined],
  ] as const)('%s', (_what, choices, query, expected) => {
    expect(interpolate(query, scope(choices))).toBe(expected ?? query);
  });

  test.each([
    ['$__interval', '15s'],
    ['$__interval_ms', '15000'],
    ['$__rate_interval', '60s'],
    ['$__range', '3600s'],
    ['$__range_s', '3600'],
    ['$__range_ms', '3600000'],
    ['${__from}', String(Date.UTC(2026, 10, 22, 2))],
    ['${__to:date:seconds}', String(Date.UTC(2026, 10, 22, 3) / 1_000)],
    ['${__from:date:iso}', '2026-11-22T02:00:00.000Z'],
  ])('%s', (query, expected) => {
    expect(interpolate(query, scope())).toBe(expected);
  });

  test('a wide step makes a wide rate', () => {
    expect(interpolate('$__rate_interval', scope({}, { intervalMs: 600_000 }))).toBe('615s');
  });

  test.each(['$nobody', '${nobody}', '${a:lucene}', '${__from:date:YYYY}'])('rejects %s', (query) => {
    expect(() => interpolate(query, scope({ a: one('x') }))).toThrow(/is not a variable|cannot be written/);
  });
});

test.each([
  [HOUR, 1_000, 15_000, 15_000],
  [6 * HOUR, 1_000, 15_000, 20_000],
  [168 * HOUR, 1_000, 15_000, 600_000],
  [HOUR, 100, 60_000, 60_000],
])('a chart of %i ms with %i points and at least %i ms has steps of %i ms', (range, points, leastMs, expected) => {
  expect(stepOf(range, { points, leastMs })).toBe(expected);
});

/** Responds to every query with the same result, and records the queries. */
function fakePrometheus(series: readonly Series[] = [], labels: readonly string[] = []) {
  const asked: string[] = [];
  const keep = (what: string): void => void asked.push(what);
  return {
    asked,
    ask: async <T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> => {
      keep(`${path} ${parameters['match[]'] ?? ''}`.trim());
      return labels as T;
    },
    instant: async (promql: string): Promise<readonly Series[]> => (keep(`instant ${promql}`), series),
    range: async (promql: string): Promise<readonly Series[]> => (keep(`range ${promql}`), series),
  };
}

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

function dashboard(over: { variables?: readonly Variable[]; panels?: readonly Partial<Panel>[] }): Dashboard {
  const panels = (over.panels ?? []).map((panel, id) => ({
    id,
    type: 'timeseries',
    title: 'Panel',
    gridPos: { x: 0, y: 0, w: 24, h: 8 },
    datasource: DATASOURCE,
    ...panel,
  }));
  const list: readonly Variable[] = [{ name: 'datasource', type: 'datasource', query: 'prometheus' }];
  return {
    uid: 'board',
    title: 'Board',
    panels,
    templating: { list: [...list, ...(over.variables ?? [])] },
    annotations: { list: [{ name: 'Marks', datasource: DATASOURCE, expr: 'marks{account=~"$account"}' }] },
  };
}

const ACCOUNT: Variable = {
  name: 'account',
  type: 'query',
  query: { query: 'label_values(up{job="opsd"}, account)' },
  multi: true,
  includeAll: true,
};

describe('choices of a variable', () => {
  const chosen = async (variables: readonly Variable[], source: ReturnType<typeof fakePrometheus>) =>
    choose(dashboard({ variables }), source, { scope: scope(), picking: 'every' });

  test('values of a label, requested with the previous variables', async () => {
    const source = fakePrometheus([], ['a', 'b']);
    const next: Variable = { ...ACCOUNT, name: 'group', query: 'label_values(x{account=~"$account"}, group)' };
    const { choices, offers } = await chosen([ACCOUNT, next], source);
    expect(source.asked).toEqual(['label/account/values up{job="opsd"}', 'label/group/values x{account=~"(a|b)"}']);
    expect(choices.get('account')).toEqual(many('a', 'b'));
    expect(offers).toEqual([
      { name: 'account', options: ['a', 'b'] },
      { name: 'group', options: ['a', 'b'] },
    ]);
  });

  test('results of a query, filtered by a part of the expression', async () => {
    const source = fakePrometheus([{ metric: { __name__: 'x', key: 'billing' }, points: [[1, 5]] }]);
    const variable: Variable = { ...ACCOUNT, query: 'query_result(topk(5, x))', regex: '/key="([^"]+)"/' };
    expect((await chosen([variable], source)).offers).toEqual([{ name: 'account', options: ['billing'] }]);
    expect(source.asked).toEqual(['instant topk(5, x)']);
  });

  test.each([
    ['all with a text of its own', { ...ACCOUNT, allValue: '.+' }, 'all', { kind: 'all', text: '.+' }],
    ['all without', ACCOUNT, 'all', many('a', 'b')],
    ['the first', ACCOUNT, 'first', many('a')],
    ['of one that takes one', { name: 'x', type: 'query' }, 'all', one('a')],
  ] as const)('%s', (_what, variable, picking, expected) => {
    expect(choiceOf(variable, ['a', 'b'], picking)).toEqual(expected);
  });

  test('without choices nothing is selected', () => {
    expect(choiceOf(ACCOUNT, [], 'first')).toBeUndefined();
  });

  test('an unknown kind is an error', async () => {
    await expect(chosen([{ name: 'x', type: 'adhoc' }], fakePrometheus())).rejects.toThrow('adhoc');
    await expect(chosen([{ ...ACCOUNT, query: 'metrics(.*)' }], fakePrometheus())).rejects.toThrow('metrics(.*)');
  });
});

describe('queries of a dashboard', () => {
  const target: Target = { refId: 'A', expr: 'rate(x[$__rate_interval])' };
  const view: View = { ...scope(), choices: new Map([['datasource', one('prometheus')]]) };

  test('panels in collapsed rows too, in the form of each target, and no hidden ones', async () => {
    const source = fakePrometheus();
    const board = dashboard({
      panels: [
        { type: 'row', panels: [dashboard({ panels: [{ targets: [target] }] }).panels[0]!] },
        { type: 'stat', targets: [{ ...target, instant: true, range: false }] },
        { targets: [{ ...target, interval: '5m' }] },
        { targets: [{ ...target, instant: true, range: true, expr: 'both' }] },
        { targets: [{ ...target, hide: true }] },
        { type: 'text' },
      ],
    });
    const answers = await answersOf(board, source, view);
    expect(source.asked).toEqual([
      'range rate(x[60s])',
      'instant rate(x[60s])',
      'range rate(x[315s])',
      'instant both',
      'range both',
    ]);
    expect(answers.map(({ isInstant }) => isInstant)).toEqual([false, true, false, true, false]);
  });

  test('a datasource that is not a variable is an error that names the panel', async () => {
    const fixed = dashboard({ panels: [{ datasource: { type: 'prometheus', uid: 'abc' }, targets: [target] }] });
    await expect(answersOf(fixed, fakePrometheus(), view)).rejects.toThrow('board: Panel: A');
    const annotated = { ...fixed, annotations: { list: [{ name: 'Marks', datasource: null, expr: 'x' }] } };
    await expect(annotationsOf(annotated, fakePrometheus(), view)).rejects.toThrow('datasource is no variable');
  });

  test('the smallest interval of a panel applies', () => {
    expect(scopeOf(view, { interval: '2m' }).intervalMs).toBe(120_000);
    expect(scopeOf(view, { interval: '2m' }, { refId: 'A', interval: '30s' }).intervalMs).toBe(30_000);
  });

  test('empty parts are reported by name: panels, marks and variables', async () => {
    const board = dashboard({ variables: [ACCOUNT], panels: [{ targets: [target] }] });
    const empty = await gapsOf(board, fakePrometheus(), { seconds: 60, picking: 'all', since: 0 });
    expect(empty.asked).toEqual(['board/variable/account', 'board/panel/Panel/A', 'board/annotation/Marks']);
    expect(empty.empty).toEqual(empty.asked);
    const full = fakePrometheus([{ metric: {}, points: [[1, 1]] }], ['shop']);
    expect((await gapsOf(board, full, { seconds: 60, picking: 'all', since: 0 })).empty).toEqual([]);
  });
});

describe('a panel is empty', () => {
  const chart = { isInstant: false, isHeatmap: false, since: 100 };
  const points = (...values: number[]): readonly Series[] => [
    { metric: {}, points: values.map((value, index) => [100 + index, value] as const) },
  ];
  test.each([
    ['without series', [], chart, true],
    ['without points', [{ metric: {}, points: [] }], chart, true],
    ['of what is no number', points(Number.NaN, Number.NaN), chart, true],
    ['of the past alone', [{ metric: {}, points: [[99, 1]] }] as const, chart, true],
    ['of a limit that is endless', points(Infinity), chart, true],
    ['but not as a number', points(Infinity), { ...chart, isInstant: true }, false],
    ['not of zeros', points(0), chart, false],
    ['of a heatmap of zeros', points(0, 0), { ...chart, isHeatmap: true }, true],
    ['not of a heatmap', points(0, 1), { ...chart, isHeatmap: true }, false],
    ['not of one line of two', [...points(Number.NaN), ...points(3)], chart, false],
  ])('%s', (_what, series, look, expected) => {
    expect(isEmpty(series, look)).toBe(expected);
  });
});
