/**
 * Charts as SVG, without a script. Texts keep their size on all screens: only the inner drawing is stretched to the width
 * of the page. Each step has its values as a title, and each chart has its values as a table. Times are UTC; the script
 * shows those of the browser. Pure.
 */
import type { Html, Mark, Series, Spark, Strip, TimeChart, ChartValues } from './cell.ts';
import {
  areaPath,
  barsPath,
  clockText,
  DAY,
  dayText,
  fixed,
  HIGH,
  HOUR,
  linePath,
  stacked,
  timeTicks,
  valueTicks,
  WIDE,
  type Scale,
} from './chart-paths.ts';
import { constantMarkup, filled, renderPlain } from './markup.ts';

type Part = Html | string | number | undefined | false | readonly Html[];

export function svg(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return filled(parts, values, (value) =>
    Array.isArray(value) ? value.map((one: Html) => renderPlain(one)).join('') : renderPlain(value as Html),
  );
}

const [SPARK_WIDE, SPARK_HIGH] = [240, 36];
/** A few bars are narrow bars, not blocks. */
const LEAST_BARS = 20;

export function sparkHtml({ shape, look, values, about }: Spark): Html {
  const highest = Math.max(Number.MIN_VALUE, ...values.map(Number));
  const scale: Scale = { count: shape === 'bars' ? Math.max(LEAST_BARS, values.length) : values.length, highest };
  const outline = shape === 'bars' ? barsPath(values, undefined, scale) : linePath(values, scale);
  return svg`<svg class="spark ${shape} ${look}" viewBox="0 ${shape === 'bars' ? 0 : -4} ${WIDE} ${shape === 'bars' ? HIGH : HIGH + 8}" width="${SPARK_WIDE}" height="${SPARK_HIGH}" preserveAspectRatio="none" role="img" aria-label="${about}"><path d="${constantMarkup(outline)}" /></svg>`;
}

/** Each item is as wide as the others, and at least a fifth of the row high, so that it can be pointed at. */
export function stripHtml({ items, highest, about }: Strip): Html {
  const most = Math.max(highest, ...items.map(({ height }) => height));
  const bars = items.map(({ look, text, height }, index) => {
    const high = 4 + 16 * (height / most);
    return svg`<rect class="${look}" x="${index * 5}" y="${fixed(20 - high)}" width="4" height="${fixed(high)}"><title>${text}</title></rect>`;
  });
  return svg`<svg class="strip" width="${items.length * 5}" height="20" role="img" aria-label="${about}">${bars}</svg>`;
}

export function timeChartHtml(chart: TimeChart): Html {
  const { title, from, stepMs, series, isStacked, limit, isLow } = chart;
  const count = Math.max(1, ...series.map(({ values }) => values.length));
  const to = from + count * stepMs;
  const places = isStacked === true ? stacked(series.map(({ values }) => values)) : undefined;
  const tops = places?.map(({ high }) => high) ?? series.map(({ values }) => values);
  const known = [limit?.value ?? 0, ...tops.flat().map(Number)];
  const ticks = valueTicks(Math.max(...known), known.every(Number.isInteger));
  const scale: Scale = { count, highest: ticks.at(-1)! };
  const frame: Frame = { from, to, top: chart.marks === undefined ? 8 : 30, high: isLow === true ? 72 : 112 };
  return svg`<figure class="chart" data-from="${from}" data-step="${stepMs}">
    <figcaption>${title} ${keys(chart)}<output></output></figcaption>
    <svg class="plot" width="100%" height="${frame.top + frame.high + 20}" role="group" aria-label="${title}">
      ${background(chart, frame)}
      <svg y="${frame.top}" width="100%" height="${frame.high}" viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none" aria-hidden="true">
        <path class="grid" d="${acrossAt(ticks, scale)}" />
        ${series.map((one, index) => seriesHtml(one, places?.[index], scale)).toReversed()}
        ${limit && svg`<path class="limit" d="${acrossAt([limit.value], scale)}" />`}
        <g class="steps">${steps(chart, count)}</g>
      </svg>
      ${markLines(chart.marks ?? [], frame)} ${axes(chart, ticks, frame)}
      ${tops.flat().every((value) => value === null) && svg`<text x="50%" y="50%" text-anchor="middle">not known yet</text>`}
    </svg>
    <details><summary>Values</summary>${valueTable(chart, count)}</details>
  </figure>`;
}

/** Place of the drawing in a chart, and its period. */
interface Frame {
  readonly from: number;
  readonly to: number;
  /** In pixels. */
  readonly top: number;
  readonly high: number;
}

function keys({ series, limit }: TimeChart): readonly Html[] {
  return [
    ...series.map(({ name, look, shape }) => svg`<span class="key ${look} ${shape}">${name}</span> `),
    ...(limit === undefined ? [] : [svg`<span class="key limit">${limit.name}</span>`]),
  ];
}

/** Lines from the left to the right. */
function acrossAt(values: readonly number[], { highest }: Scale): Html {
  return constantMarkup(values.map((value) => `M0 ${fixed(HIGH - (value / highest) * HIGH)}H${WIDE}`).join(''));
}

function seriesHtml(
  { shape, look, values, low }: Series,
  place: ReturnType<typeof stacked>[number] | undefined,
  scale: Scale,
): Html {
  const top = place?.high ?? values;
  const bottom = place?.low ?? low;
  if (shape === 'bars')
    return svg`<path class="bar ${look}" d="${constantMarkup(barsPath(values, place?.low, scale))}" />`;
  const line = svg`<path class="line ${look}" d="${constantMarkup(linePath(top, scale))}" />`;
  if (shape === 'line') return line;
  return svg`<path class="${shape} ${look}" d="${constantMarkup(areaPath(top, bottom, scale))}" />${shape === 'area' && line}`;
}

/** Share of the width, in percent. */
function left(at: number, { from, to }: Frame): string {
  return fixed(((at - from) / (to - from)) * 100);
}

function background({ shades = [] }: TimeChart, frame: Frame): readonly Html[] {
  return shades.map((shade) => {
    const [start, end] = [Math.max(shade.from, frame.from), Math.min(shade.to, frame.to)];
    return svg`<rect class="shade" x="${left(start, frame)}%" y="${frame.top}" width="${fixed(Number(left(end, frame)) - Number(left(start, frame)))}%" height="${frame.high}" />`;
  });
}

/** Transparent steps with their values as titles. */
function steps({ series, from, stepMs, format }: TimeChart, count: number): readonly Html[] {
  const width = WIDE / count;
  return Array.from({ length: count }, (_, index) => {
    const known = series.flatMap(({ name, values }) => {
      const value = values[index];
      return value === null || value === undefined ? [] : [`${format(value)} ${name}`];
    });
    const text = [stepText(from + index * stepMs, stepMs), ...(known.length === 0 ? ['unknown'] : known)].join('\n');
    return svg`<rect x="${fixed(index * width)}" width="${fixed(width)}" height="${HIGH}"><title>${text}</title></rect>`;
  });
}

function stepText(at: number, stepMs: number): string {
  if (stepMs >= DAY) return dayText(at);
  return stepMs >= HOUR ? `${dayText(at)} ${clockText(at)}` : clockText(at);
}

/** Least distance of two texts of marks in one row, in percent of the width. */
const APART = 20;
/** Baselines of the rows of texts. */
const MARK_ROWS = [10, 23];
const MARK_LENGTH = 40;

/** Marks with their texts where there is room. All of them have titles. */
function markLines(marks: readonly Mark[], frame: Frame): readonly Html[] {
  const lastOfRow = MARK_ROWS.map(() => -Infinity);
  const bottom = frame.top + frame.high;
  return marks
    .filter(({ at }) => at >= frame.from && at <= frame.to)
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, look, text, path }) => {
      const x = Number(left(at, frame));
      const row = lastOfRow.findIndex((last) => x - last >= APART);
      const y = MARK_ROWS[row];
      if (y !== undefined) lastOfRow[row] = x;
      const side = constantMarkup(x > 80 ? 'text-anchor="end" dx="-4"' : 'dx="4"');
      const drawn = svg`<title>${clockText(at)} ${text}</title>
        <line x1="${x}%" x2="${x}%" y1="${y === undefined ? frame.top : y - 9}" y2="${bottom}" />
        ${y !== undefined && svg`<text x="${x}%" y="${y}" ${side}>${text.slice(0, MARK_LENGTH)}</text>`}`;
      return path === undefined
        ? svg`<g class="mark ${look}">${drawn}</g>`
        : svg`<a class="mark ${look}" href="${path}">${drawn}</a>`;
    });
}

function axes({ format }: TimeChart, ticks: readonly number[], frame: Frame): Html {
  const { from, to, top, high } = frame;
  const values = ticks.slice(1).map((tick) => {
    const y = top + high * (1 - tick / ticks.at(-1)!);
    return svg`<text class="value" x="0" y="${fixed(y + 12)}">${format(tick)}</text>`;
  });
  const times = timeTicks(from, to).map(({ at, text, isDay }, index) => {
    const x = Number(left(at, frame));
    const anchor = x < 4 ? 'start' : x > 96 ? 'end' : 'middle';
    return svg`<text class="time${index % 2 === 1 && ' odd'}" x="${x}%" y="${top + high + 15}" text-anchor="${anchor}" data-at="${!isDay && at}">${text}</text>`;
  });
  return svg`<g aria-hidden="true">${values}${times}</g>`;
}

function valueTable({ title, series, from, stepMs, format }: TimeChart, count: number): Html {
  const shown = (values: ChartValues, index: number): string => {
    const value = values[index];
    return value === null || value === undefined ? 'unknown' : format(value);
  };
  const rows = Array.from(
    { length: count },
    (_, index) =>
      svg`<tr><th scope="row">${stepText(from + index * stepMs, stepMs)}</th>${series.map(({ values }) => svg`<td>${shown(values, index)}</td>`)}</tr>`,
  );
  return svg`<table class="plain"><caption>${title}</caption><thead><tr><th scope="col">Time, <span data-zone>UTC</span></th>${series.map(({ name }) => svg`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;
}
