/** The tests' model of Grafana: variables in queries, their choices, and when a panel is empty. */
import { describe, expect, test } from 'vitest';
import { annotationsOf, answersOf, scopeOf, type View } from '../support/grafana/answers.ts';
import { choose, type Picking } from '../support/grafana/choices.ts';
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
    choices: new Map(Object.entries(choices)),
    ...over,
  };
}

describe('a variable in a query', () => {
  test.each([
    ['one of several', { a: ['127.0.0.1:80'] }, 'x{a=~"$a"}', String.raw`x{a=~"127\\.0\\.0\\.1:80"}`],
    ['several', { a: ['b.c', 'd|e'] }, 'x{a=~"$a"}', String.raw`x{a=~"(b\\.c|d\\|e)"}`],
    ['all of them', { a: '.+' }, 'x{a=~"$a"}', 'x{a=~".+"}'],
    ['a group of label_replace stays', { a: 'x' }, 'label_replace(x, "d", "$1", "s", "(.*)")', undefined],
  ] as const)('%s', (_what, choices, query, expected) => {
    expect(interpolate(query, scope(choices))).toBe(expected ?? query);
  });

  test.each([
    ['$__interval', '15s'],
    ['$__interval_ms', '15000'],
    ['$__rate_interval', '60s'],
    ['$__range', '3600s'],
  ])('%s', (query, expected) => {
    expect(interpolate(query, scope())).toBe(expected);
  });

  test('a wide step makes a wide rate', () => {
    expect(interpolate('$__rate_interval', scope({}, { intervalMs: 600_000 }))).toBe('615s');
  });

  test.each(['$nobody', '${a}', '[[a]]', '${__from}'])('rejects %s', (query) => {
    expect(() => interpolate(query, scope({ a: 'x' }))).toThrow('is not a variable');
  });
});

test.each([
  [HOUR, 15_000, 15_000],
  [6 * HOUR, 15_000, 20_000],
  [168 * HOUR, 15_000, 600_000],
  [HOUR, 60_000, 60_000],
])('a chart of %i ms with at least %i ms has steps of %i ms', (range, leastMs, expected) => {
  expect(stepOf(range, leastMs)).toBe(expected);
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
  allValue: '.+',
};

describe('choices of a variable', () => {
  const chosen = async (
    variables: readonly Variable[],
    source: ReturnType<typeof fakePrometheus>,
    picking: Picking = 'every',
  ) => choose(dashboard({ variables }), source, { scope: scope(), picking });

  test('values of a label, requested with the previous variables', async () => {
    const source = fakePrometheus([], ['a', 'b']);
    const next: Variable = { ...ACCOUNT, name: 'group', query: 'label_values(x{account=~"$account"}, group)' };
    const { choices, offers } = await chosen([ACCOUNT, next], source);
    expect(source.asked).toEqual(['label/account/values up{job="opsd"}', 'label/group/values x{account=~"(a|b)"}']);
    expect(choices.get('account')).toEqual(['a', 'b']);
    expect(offers).toEqual([
      { name: 'account', options: ['a', 'b'] },
      { name: 'group', options: ['a', 'b'] },
    ]);
  });

  test.each([
    ['all', ['a', 'b'], '.+'],
    ['first', ['a', 'b'], ['a']],
    ['every', [], undefined],
  ] as const)('%s of %j', async (picking, options, expected) => {
    expect((await chosen([ACCOUNT], fakePrometheus([], options), picking)).choices.get('account')).toEqual(expected);
  });

  test.each([{ type: 'adhoc' }, { query: 'metrics(.*)' }, { allValue: null }])(
    'an unknown kind: %j',
    async (change) => {
      await expect(chosen([{ ...ACCOUNT, ...change }], fakePrometheus())).rejects.toThrow('$account is a variable');
    },
  );
});

describe('queries of a dashboard', () => {
  const target: Target = { refId: 'A', expr: 'rate(x[$__rate_interval])' };
  const view: View = { ...scope(), choices: new Map([['datasource', 'prometheus']]) };

  test('panels in collapsed rows too, in the form of each target', async () => {
    const source = fakePrometheus();
    const board = dashboard({
      panels: [
        { type: 'row', panels: [dashboard({ panels: [{ targets: [target] }] }).panels[0]!] },
        { type: 'stat', targets: [{ ...target, instant: true, range: false }] },
        { interval: '5m', targets: [target] },
        { targets: [{ ...target, instant: true, range: true, expr: 'both' }] },
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
