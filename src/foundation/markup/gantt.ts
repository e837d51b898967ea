/**
 * Attempts, waits and callbacks of messages as bars over one time scale. A long wait would make attempts invisible: it is
 * cut, with its length in words. Pure.
 */
import { formatElapsed } from '../domain/time-text.ts';
import type { Gantt, GanttBar, GanttRow, Html } from './cell.ts';
import { fixed } from './chart-paths.ts';
import { svg } from './chart.ts';

/** Place on the axis in percent, for times between those of two neighbors. */
interface Axis {
  readonly stops: readonly { readonly at: number; readonly x: number }[];
  readonly cuts: readonly { readonly from: number; readonly to: number }[];
}

/** Share of the uncut time above which a wait is cut. */
const TOO_LONG = 2 / 3;
const MOST_CUT_SHARE = 60;
const CUT_SHARE = 10;

/** @param bars waits may be cut; a busy bar may not */
export function axisOf(bars: readonly GanttBar[], marks: readonly { readonly at: number }[] = []): Axis {
  const times = [...new Set([...bars.flatMap(({ from, to }) => [from, to]), ...marks.map(({ at }) => at)])].toSorted(
    (a, b) => a - b,
  );
  const busy = bars.filter(({ look }) => look !== 'faint');
  const gaps = times.slice(1).map((to, index) => {
    const from = times[index]!;
    return { from, to, isBusy: busy.some((bar) => bar.from < to && bar.to > from) };
  });
  const cuts: typeof gaps = [];
  let uncut = (times.at(-1) ?? 0) - (times[0] ?? 0);
  for (const gap of gaps.filter(({ isBusy }) => !isBusy).toSorted((a, b) => b.to - b.from - (a.to - a.from))) {
    const length = gap.to - gap.from;
    // The only gap has nothing to hide.
    if (length <= uncut * TOO_LONG || uncut - length === 0) break;
    cuts.push(gap);
    uncut -= length;
  }
  const share = cuts.length === 0 ? 0 : Math.min(CUT_SHARE, MOST_CUT_SHARE / cuts.length);
  let x = 0;
  const stops = [{ at: times[0] ?? 0, x }];
  for (const gap of gaps) {
    x += cuts.includes(gap) ? share : ((100 - share * cuts.length) * (gap.to - gap.from)) / (uncut || 1);
    stops.push({ at: gap.to, x: Math.min(100, x) });
  }
  return { stops, cuts: cuts.toSorted((a, b) => a.from - b.from) };
}

export function placeOf(at: number, { stops }: Axis): number {
  const next = stops.findIndex((stop) => stop.at >= at);
  if (next === -1) return 100;
  const [a, b] = [stops[Math.max(0, next - 1)]!, stops[next]!];
  // The sum may exceed the place of the next stop by a rounding.
  return b.at === a.at ? b.x : Math.min(b.x, a.x + ((b.x - a.x) * (at - a.at)) / (b.at - a.at));
}

const ROW = 36;
const TOP = 4;
/** Least distance of two texts of the scale, in percent. */
const APART = 8;

export function ganttHtml({ title, rows }: Gantt): Html {
  const axis = axisOf(
    rows.flatMap(({ bars }) => bars),
    rows.flatMap(({ marks = [] }) => marks),
  );
  const bottom = TOP + rows.length * ROW;
  const cutText =
    axis.cuts.length > 0 &&
    svg`<span class="key faint">long waits are cut: ${axis.cuts.map(({ from, to }) => formatElapsed(to - from)).join(', ')}</span>`;
  return svg`<figure class="chart gantt">
    <figcaption>${title} ${cutText}</figcaption>
    <svg class="plot" width="100%" height="${bottom + 20}" role="group" aria-label="${title}">
      ${rows.map((row, index) => rowSvg(row, axis, TOP + index * ROW))}
      ${axis.cuts.map(({ from, to }) => cutSvg((placeOf(from, axis) + placeOf(to, axis)) / 2, bottom))}
      ${scaleSvg(axis, bottom)}
    </svg>
  </figure>`;
}

/** The name stands above the bars, so that a phone needs no column for it. */
function rowSvg({ name, bars, marks = [] }: GanttRow, axis: Axis, y: number): Html {
  return svg`<g><text x="0" y="${y + 12}">${name}</text>${bars.map((bar) => barSvg(bar, axis, y + 18))}${marks.map(
    ({ at, look, text }) =>
      svg`<g class="${look}"><title>${text}</title><line class="thin" x1="${fixed(placeOf(at, axis))}%" x2="${fixed(placeOf(at, axis))}%" y1="${y + 16}" y2="${y + 32}" /></g>`,
  )}</g>`;
}

/** A line keeps the shortest bar visible. */
function barSvg({ from, to, look, text }: GanttBar, axis: Axis, y: number): Html {
  const [left, right] = [placeOf(from, axis), placeOf(to, axis)];
  const line = svg`<line class="thin" x1="${fixed(left)}%" x2="${fixed(left)}%" y1="${y}" y2="${y + 12}" />`;
  const isWait = look === 'faint';
  return svg`<g class="${look}"><title>${text}</title><rect class="${isWait ? 'wait' : 'bar'}" x="${fixed(left)}%" y="${isWait ? y + 4 : y}" width="${fixed(right - left)}%" height="${isWait ? 4 : 12}" />${!isWait && line}</g>`;
}

function cutSvg(x: number, bottom: number): Html {
  return svg`<g aria-hidden="true"><line class="cut" x1="${fixed(x - 0.4)}%" x2="${fixed(x - 0.4)}%" y1="${TOP}" y2="${bottom + 4}" /><line class="cut" x1="${fixed(x + 0.4)}%" x2="${fixed(x + 0.4)}%" y1="${TOP}" y2="${bottom + 4}" /></g>`;
}

/** Times since the start. */
function scaleSvg(axis: Axis, bottom: number): Html {
  const [first, last] = [axis.stops[0]!, axis.stops.at(-1)!];
  const round = [1, 2, 3].map((quarter) => first.at + ((last.at - first.at) * quarter) / 4);
  const wanted = [
    first.at,
    last.at,
    ...axis.cuts.flatMap(({ from, to }) => [from, to]),
    ...(axis.cuts.length === 0 ? round : []),
  ];
  const shown: { readonly at: number; readonly x: number }[] = [];
  for (const at of wanted) {
    const x = placeOf(at, axis);
    if (shown.every((one) => Math.abs(one.x - x) >= APART)) shown.push({ at, x });
  }
  const texts = shown.map(({ at, x }) => {
    const anchor = x < 4 ? 'start' : x > 96 ? 'end' : 'middle';
    return svg`<text x="${fixed(x)}%" y="${bottom + 16}" text-anchor="${anchor}">${at === first.at ? '0' : `+${formatElapsed(at - first.at)}`}</text>`;
  });
  return svg`<g aria-hidden="true"><line class="axis" x1="0" x2="100%" y1="${bottom}" y2="${bottom}" />${texts}</g>`;
}
