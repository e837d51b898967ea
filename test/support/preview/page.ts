/** A dashboard as a page, which shows its JSON with the data of a real Prometheus. It approximates Grafana. */
import { readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { scopeOf, type Answer, type View } from '../grafana/answers.ts';
import { panelsOf, type Dashboard, type Panel } from '../grafana/dashboard.ts';
import { isEmpty } from '../grafana/emptiness.ts';
import type { Chart } from './draw.ts';
import { colour, escaped, nameOf, settingsOf, shown } from './fields.ts';
import { heatmapOf, tableOf, timelineOf } from './pictures.ts';

const [WIDTH, CELL, HEAD] = [1_600, 38, 44];

const STYLE = `body{background:#111217;color:#d8d9da;font:12px sans-serif;margin:0}h1{font-size:16px;margin:0;padding:12px}h2{font-size:13px;margin:0 0 4px}
.panel{position:absolute;background:#181b1f;border:1px solid #2c3235;box-sizing:border-box;overflow:hidden;padding:6px;white-space:nowrap}.row{background:none;border:none}
.stats{display:flex;height:calc(100% - 30px);justify-content:space-around;align-items:center;text-align:center}.stats b{display:block;font-size:28px}.empty{color:#8e8e8e;text-align:center;font-size:15px}
table{border-collapse:collapse;width:100%}td{border-bottom:1px solid #2c3235;padding:4px}.rows *,.bar *{overflow:hidden}.rows svg{width:100%;height:100%}
.bar{display:grid;grid-template-columns:30% 1fr 90px;gap:6px;margin:3px}.bar i{height:15px}.rows{display:grid;grid-template-columns:260px 1fr;height:calc(100% - 20px);font-size:11px}
.u-legend{font-size:11px;text-align:left!important;white-space:normal;max-height:34px;overflow:hidden}.u-legend td,.u-legend th{border:0;padding:0 4px}`;

export function sizeOf(dashboard: Dashboard) {
  return { width: WIDTH, height: HEAD + CELL * Math.max(...panelsOf(dashboard).map(({ gridPos: { y, h } }) => y + h)) };
}

export function pageOf(dashboard: Dashboard, answers: readonly Answer[], view: View): string {
  const charts: Chart[] = [];
  const panels = panelsOf(dashboard).map((panel) => {
    const { x, y, w, h } = panel.gridPos;
    const box = { left: (x * WIDTH) / 24, top: y * CELL + HEAD, width: (w * WIDTH) / 24 - 6, height: h * CELL - 6 };
    const own = answers.filter((answer) => answer.panel === panel);
    const body = bodyOf(panel, own, { view, charts, size: { width: box.width - 14, height: box.height - 32 } });
    const state = own.length === 0 ? 'words' : body === '' ? 'empty' : 'data';
    const noValue = state === 'empty' ? escaped(panel.fieldConfig?.defaults?.noValue ?? 'No data') : '';
    const style = Object.entries(box).map(([key, value]) => `${key}:${value}px`);
    return `<div class="panel ${panel.type}" data-state="${state}" data-id="${panel.id}" style="${style.join(';')}">
<h2>${escaped(panel.title ?? '')}</h2>${body}<div class="empty">${noValue}</div></div>`;
  });
  const { resolve } = createRequire(import.meta.url);
  const uplot = ['min.css', 'iife.min.js'].map((name) => readFileSync(resolve(`uplot/dist/uPlot.${name}`), 'utf8'));
  const sources = ['units.ts', 'draw.ts'].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'));
  const script = sources.map((source) => stripTypeScriptTypes(source).replaceAll(/^export /gm, '')).join('');
  return `<!doctype html><meta charset="utf-8"><style>${uplot[0]}${STYLE}</style><h1>${escaped(dashboard.title)}</h1>${panels.join('\n')}
<script>${uplot[1]}</script><script>${`const charts = ${JSON.stringify(charts)};`.replaceAll('<', String.raw`\u003c`)}
${script}</script>`;
}

type Room = { readonly view: View; readonly charts: Chart[]; readonly size: Chart['size'] };

/** Returns an empty text where there is no data. */
function bodyOf(panel: Panel, answers: readonly Answer[], { view, charts, size }: Room): string {
  const isHeatmap = panel.type === 'heatmap';
  if (answers.every(({ series, isInstant }) => isEmpty(series, { isInstant, isHeatmap, since: 0 }))) return '';
  const last = answers.flatMap((answer) =>
    answer.series.map(({ metric, points }) => {
      const [name, value] = [nameOf(answer, metric), points.at(-1)![1]];
      const { text, colour } = shown(value, settingsOf(panel, name), view.toMs);
      return { name: escaped(name), value, colour, text: `<b style="color:${colour}">${escaped(text)}</b>` };
    }),
  );
  switch (panel.type) {
    case 'timeseries': {
      const id = `chart-${panel.id}`;
      charts.push({ id, size: { ...size, height: size.height - 36 }, ...chartOf(panel, answers, view) });
      return `<div id="${id}"></div>`;
    }
    case 'stat':
      return `<div class="stats">${last.map((one) => `<div>${one.text}${one.name}</div>`).join('')}</div>`;
    case 'bargauge': {
      const most =
        panel.fieldConfig?.defaults?.max ?? Math.max(1e-9, ...last.map(({ value }) => value).filter(Number.isFinite));
      const bars = last.map(({ name, value, colour, text }) => {
        const style = `width:${Math.min(100, (100 * value) / most)}%;background:${colour}`;
        return `<div class="bar"><span>${name}</span><i style="${style}"></i>${text}</div>`;
      });
      return bars.join('');
    }
    default:
      return { table: tableOf, 'state-timeline': timelineOf, heatmap: heatmapOf }[panel.type]!(panel, answers, view);
  }
}

function chartOf(panel: Panel, answers: readonly Answer[], view: View): Omit<Chart, 'id' | 'size'> {
  const { fromMs, toMs } = view;
  const { unit = 'short', custom = {}, ...limits } = panel.fieldConfig?.defaults ?? {};
  const isStacked = (custom['stacking'] as { mode?: string } | undefined)?.mode === 'normal';
  const [shade, bars] = [Number(custom['fillOpacity']) > 20 ? '50' : '14', custom['drawStyle'] === 'bars'];
  // One point per step, so that missing points are gaps.
  const step = scopeOf(view, panel).intervalMs;
  const times = Array.from(
    { length: 1 + Math.floor((toMs - fromMs) / step) },
    (_, ago) => toMs - ago * step,
  ).toReversed();
  const sums = times.map(() => 0);
  const all = answers.flatMap((answer) =>
    answer.series.map(({ metric, points }) => {
      const label = nameOf(answer, metric);
      const fixed = settingsOf(panel, label).color?.fixedColor;
      const values = new Map(points.map(([at, value]) => [Math.round(at * 1e3), value]));
      const column = times.map((at, index) => {
        const value = values.get(at) ?? Infinity;
        if (Number.isFinite(value)) sums[index]! += value;
        return Number.isFinite(value) ? (isStacked ? sums[index]! : value) : null;
      });
      return { column, line: { label, shade, bars, stroke: fixed && colour(fixed) } };
    }),
  );
  // Values beyond a soft end extend the axis.
  const soft = custom['axisSoftMax'] as number | undefined;
  const highest = all.flatMap(({ column }) => column).reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const end = soft === undefined || highest > soft ? {} : { max: soft };
  // The largest of a stack is drawn first, behind the others.
  if (isStacked) all.reverse();
  const data = [times.map((at) => at / 1e3), ...all.map(({ column }) => column)];
  return {
    data,
    lines: all.map(({ line }) => line),
    axis: { unit, ...limits, ...end },
    span: [fromMs / 1e3, toMs / 1e3],
  };
}
