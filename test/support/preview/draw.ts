/** Runs in the browser, without its types: draws the charts of the page with uPlot. */
import type uPlotType from 'uplot';

export interface Chart {
  readonly id: string;
  readonly size: { readonly width: number; readonly height: number };
  readonly data: readonly (readonly (number | null)[])[];
  /** Opacity as two hexadecimal digits in `shade`. */
  readonly lines: readonly { label: string; stroke?: string | undefined; shade: string; bars: boolean }[];
  readonly axis: { readonly unit: string; readonly decimals?: number; readonly min?: number; readonly max?: number };
  /** Epoch seconds. */
  readonly span: readonly [number, number];
}

declare const uPlot: typeof uPlotType;
declare const charts: readonly Chart[];
declare const written: (value: number, unit: string, now: number, decimals?: number) => string;
declare const document: { getElementById(id: string): { dataset: Record<string, string> } };

const PALETTE = '#73bf69 #f2cc0c #8ab8ff #ff780a #f2495c #5794f2 #b877d9 #fade2a #37872d #c0d8ff'.split(' ');

for (const { id, size, data, lines, axis, span } of charts) {
  const element = document.getElementById(id);
  const look = { stroke: '#9fa7b3', grid: { stroke: '#2c3235', width: 1 }, font: '11px sans-serif' };
  const values = (_: unknown, at: readonly number[]) => at.map((one) => written(one, axis.unit, 0, axis.decimals));
  const { min, max } = axis;
  const range = (_: unknown, least: number, most: number) => [min ?? least, max ?? (most > 0 ? most * 1.05 : 1)];
  const series = lines.map(({ label, stroke, shade, bars }, at) => {
    const own = stroke ?? PALETTE[at % PALETTE.length]!;
    const isSparse = data[at + 1]!.filter((value) => value !== null).length < 20;
    const paths = bars ? { paths: uPlot.paths.bars!({ size: [0.8, 20] }) } : {};
    return { label, stroke: own, fill: own + shade, width: 1.5, points: { show: isSparse }, ...paths };
  });
  const options = {
    ...size,
    legend: { live: false },
    scales: { x: { range: () => [...span] }, y: { range } },
    axes: [look, { ...look, size: 76, values }],
    series: [{}, ...series],
  };
  element.dataset['lines'] = String(new uPlot(options as never, data as never, element).series.length - 1);
}
