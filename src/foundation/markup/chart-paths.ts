/** Ticks and outlines of charts. Pure. A chart's inside is `WIDE` units wide and `HIGH` units high. */
import type { ChartValues } from './cell.ts';

export const WIDE = 1_000;
export const HIGH = 100;

/** Below it, everything is zero. */
const LEAST = 1e-9;

/** Round values from 0 up to at least `highest`, at most six. @param isWhole for counts, which have no fractions */
export function valueTicks(highest: number, isWhole = false): readonly number[] {
  const wanted = (highest > LEAST ? highest : 1) / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const round = power * ([1, 2, 2.5, 5].find((factor) => factor * power >= wanted) ?? 10);
  const step = isWhole ? Math.ceil(round) : round;
  const count = Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 7_200, 10_080].map((count) => count * MINUTE);

/** Round times of a period, at most seven. */
export function timeTicks(
  from: number,
  to: number,
): readonly { readonly at: number; readonly text: string; readonly isDay: boolean }[] {
  const step = STEPS.find((ms) => (to - from) / ms <= 6) ?? STEPS.at(-1)!;
  const first = Math.ceil(from / step) * step;
  const count = Math.max(0, Math.floor((to - first) / step) + 1);
  return Array.from({ length: count }, (_, index) => {
    const at = first + index * step;
    return step >= DAY ? { at, text: dayText(at), isDay: true } : { at, text: clockText(at), isDay: false };
  });
}

export function clockText(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}

/** `27 Nov`. */
export function dayText(at: number): string {
  return new Date(at).toUTCString().slice(5, 11);
}

/** Runs of known values, each with the index of its first one. */
function knownRuns(values: ChartValues): { readonly first: number; readonly known: number[] }[] {
  const runs: { first: number; known: number[] }[] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const last = runs.at(-1);
    if (last !== undefined && last.first + last.known.length === index) last.known.push(value);
    else runs.push({ first: index, known: [value] });
  }
  return runs;
}

/** Places of values on a chart. */
export interface Scale {
  readonly count: number;
  readonly highest: number;
}

/** Line through the middle of each step. A value without neighbors is as long as its step. */
export function linePath(values: ChartValues, scale: Scale): string {
  return knownRuns(values)
    .map(({ first, known }) =>
      known.length === 1
        ? `M${edge(first, scale)} ${y(known[0]!, scale)}H${edge(first + 1, scale)}`
        : `M${points(first, known, scale).join('L')}`,
    )
    .join('');
}

/** Area between values and a lower edge. Without one, down to 0. */
export function areaPath(values: ChartValues, low: ChartValues | undefined, scale: Scale): string {
  return knownRuns(values)
    .map(({ first, known }) => {
      const base = known.map((_value, index) => low?.[first + index] ?? 0);
      if (known.length === 1) {
        const [left, right] = [edge(first, scale), edge(first + 1, scale)];
        return `M${left} ${y(base[0]!, scale)}V${y(known[0]!, scale)}H${right}V${y(base[0]!, scale)}z`;
      }
      return `M${[...points(first, known, scale), ...points(first, base, scale).toReversed()].join('L')}z`;
    })
    .join('');
}

export function barsPath(values: ChartValues, low: ChartValues | undefined, scale: Scale): string {
  const width = fixed((WIDE / scale.count) * 0.84);
  return values
    .map((value, index) => {
      if (value === null || value === 0) return '';
      const bottom = low?.[index] ?? 0;
      const height = fixed(Number(y(bottom, scale)) - Number(y(bottom + value, scale)));
      return `M${fixed(((index + 0.08) / scale.count) * WIDE)} ${y(bottom, scale)}v-${height}h${width}v${height}z`;
    })
    .join('');
}

function points(first: number, values: readonly number[], scale: Scale): string[] {
  return values.map((value, index) => `${edge(first + index + 0.5, scale)} ${y(value, scale)}`);
}

function edge(index: number, { count }: Scale): string {
  return fixed((index / count) * WIDE);
}

function y(value: number, { highest }: Scale): string {
  return fixed(HIGH - (value / highest) * HIGH);
}

/** Sum of the values below each value of a stack. Null where any of them is unknown. */
export function stacked(rows: readonly ChartValues[]): { readonly low: ChartValues; readonly high: ChartValues }[] {
  let low: ChartValues = rows[0]?.map(() => 0) ?? [];
  return rows.map((values) => {
    const below = low;
    const high = values.map((value, index) => {
      const base = below[index] ?? null;
      return value === null || base === null ? null : base + value;
    });
    low = high;
    return { low: below, high };
  });
}

export function fixed(value: number): string {
  return String(Number(value.toFixed(1)));
}
