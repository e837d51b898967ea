/** Panels that are not charts of uPlot. */
import { scopeOf, type Answer, type View } from '../grafana/answers.ts';
import type { Panel } from '../grafana/dashboard.ts';
import { escaped, nameOf, settingsOf, shown } from './fields.ts';
import { written } from './units.ts';

type Names = Readonly<Record<string, string>>;

/** Builds one row per set of labels and one column per query, renamed and in the order of `organize`. */
export function tableOf(panel: Panel, answers: readonly Answer[], { toMs }: View): string {
  const rows = new Map<string, Map<string, string | number>>();
  for (const { series, target } of answers) {
    for (const { metric, points } of series) {
      const labels = Object.entries(metric).filter(([label]) => label !== '__name__');
      const row = rows.get(labels.join(' ')) ?? new Map<string, string | number>(labels);
      row.set(answers.length === 1 ? 'Value' : `Value #${target.refId}`, points[0]![1]);
      rows.set(labels.join(' '), row);
    }
  }
  const organize = panel.transformations?.find(({ id }) => id === 'organize')?.options ?? {};
  const [hidden, order, names] = ['exclude', 'index', 'rename'].map((key) => (organize[`${key}ByName`] ?? {}) as Names);
  const columns = Object.keys(order!).filter((column) => !hidden![column]);
  const title = (column: string): string => names![column] || column;
  const cell = (column: string, value: string | number = ''): string => {
    const settings = settingsOf(panel, title(column));
    const look =
      typeof value === 'string'
        ? { text: value || (settings.noValue ?? ''), colour: 'inherit' }
        : shown(value, settings, toMs);
    return `<td style="color:${look.colour}">${escaped(look.text)}`;
  };
  const head = columns.map((column) => `<td><b>${escaped(title(column))}</b>`);
  const lines = [...rows.values()].map((row) => columns.map((column) => cell(column, row.get(column))));
  return `<table>${[head, ...lines].map((line) => `<tr>${line.join('')}`).join('')}</table>`;
}

export function timelineOf(panel: Panel, answers: readonly Answer[], view: View): string {
  const rows = answers.flatMap((answer) =>
    answer.series.map(({ metric, points }) => {
      const name = nameOf(answer, metric);
      const { mappings = [], ...rest } = settingsOf(panel, name);
      // Grafana uses either of them.
      const settings = rest.color?.mode === 'thresholds' ? rest : { ...rest, mappings };
      return { name, cells: points.map(([at, value]) => [at, shown(value, settings, view.toMs).colour] as const) };
    }),
  );
  return rowsOf(panel, view, rows);
}

/** Converts cumulative buckets to separate cells. */
export function heatmapOf(panel: Panel, [answer]: readonly Answer[], view: View): string {
  const bound = ({ le = '' }: Names): number => Number(le.replace('+Inf', 'Infinity'));
  const buckets = answer!.series.toSorted((a, b) => bound(a.metric) - bound(b.metric));
  const counts = buckets.map(({ points }, row) => {
    const below = new Map(buckets[row - 1]?.points);
    return points.map(([at, value]) => [at, Math.max(0, value - (below.get(at) ?? 0))] as const);
  });
  const most = Math.max(...counts.flat().map(([, count]) => count));
  const { unit = 'short' } = (panel.options?.['yAxis'] ?? {}) as { unit?: string };
  const rows = buckets.map(({ metric }, row) => ({
    name: written(bound(metric), unit, view.toMs),
    cells: counts[row]!.map(([at, count]) => [at, `rgba(255,152,48,${Math.sqrt(count / most)})`] as const),
  }));
  return rowsOf(panel, view, rows.toReversed());
}

type Rows = readonly { readonly name: string; readonly cells: readonly (readonly [number, string])[] }[];

function rowsOf(panel: Panel, view: View, rows: Rows): string {
  const [from, seconds] = [view.fromMs / 1_000, (view.toMs - view.fromMs) / 1_000];
  const step = scopeOf(view, panel).intervalMs / 1_000;
  const marks = rows.map(({ name, cells }) => {
    const rects = cells.map(([at, colour]) => `<rect x="${at - from}" width="${step}" height="9" fill="${colour}"/>`);
    return `<span>${escaped(name)}</span><svg viewBox="0 0 ${seconds} 10" preserveAspectRatio="none">${rects.join('')}</svg>`;
  });
  return `<div class="rows" style="grid-auto-rows:minmax(0,30px)">${marks.join('')}</div>`;
}
