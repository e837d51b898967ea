/**
 * Windows of points folded into a counter. The statistics tell how much fell into each of the last intervals; a fold
 * adds each interval once, as soon as it is settled, and adds what comes to it later. After a gap that is longer than
 * the finest window, coarser ones fill it; what they cannot tell exactly is counted as missed and never guessed.
 *
 * Times are epoch milliseconds, intervals [from, to).
 */
import type { DataPoint, StatsPeriod } from '#foundation/domain/statistics.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How many points a period has, and how far apart they are. The first one is the finest: the one that is folded. */
const GRIDS: readonly { readonly period: StatsPeriod; readonly points: number; readonly stepMs: number }[] = [
  { period: '1h', points: 60, stepMs: MINUTE_MS },
  { period: '3h', points: 60, stepMs: 3 * MINUTE_MS },
  { period: '12h', points: 60, stepMs: 12 * MINUTE_MS },
  { period: '1d', points: 60, stepMs: 24 * MINUTE_MS },
  { period: '3d', points: 60, stepMs: 72 * MINUTE_MS },
  { period: '7d', points: 60, stepMs: 168 * MINUTE_MS },
  { period: '30d', points: 240, stepMs: 180 * MINUTE_MS },
];
const FINE = GRIDS[0]!;

/** So long before the watermark an interval may still have been revised while nobody looked. */
const REVISED_MS = 20 * MINUTE_MS;
/** Counted intervals are kept so long, so that the coarsest point (3 h) can be told apart from what it shares with them. */
const KEPT_MS = 4 * HOUR_MS;
/** A point that is longer may not have ended where the finest window begins: between them another window is read. */
const LONGEST_BESIDE_FINE_MS = 50 * MINUTE_MS;

/** What the interface does not say of points. */
export interface PointMeaning {
  /** How much fell into the interval, or how much a second. */
  readonly value: 'sum' | 'rate';
  /** Which end of its interval a point's time is. */
  readonly at: 'start' | 'end';
}

/** How much fell into [from, to). */
export interface Interval {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** An interval as it was counted. */
export interface CountedInterval extends Interval {
  /** What was last read of it: less than `value` when it fell, undefined while its point was not served. */
  readonly read: number | undefined;
}

export interface SeriesState {
  /** Counting began here: what is before is known, and not counted. */
  readonly base: number;
  /** End of the newest counted interval. */
  readonly watermark: number;
  /** The last counted intervals, in order. */
  readonly last: readonly CountedInterval[];
}

export interface PointsFolded {
  readonly state: SeriesState;
  readonly increase: number;
  /** Points that were folded in, of the finest period. */
  readonly points: number;
  /** Of these, the ones that were due before the poll before this one. */
  readonly backfilled: number;
  /** Intervals that read otherwise than when they were counted. */
  readonly revised: number;
  /** Points whose amount cannot be known any more. */
  readonly missed: number;
}

export interface FoldPoints {
  /** Intervals of the finest period. */
  readonly fine: readonly Interval[];
  /** Intervals of coarser periods, the coarsest first. */
  readonly coarse?: readonly (readonly Interval[])[];
  /** When the service made the answer. */
  readonly servedAt: number;
  /** How long after its end an interval is taken to be complete. */
  readonly settleMs: number;
  /** Between polls. */
  readonly intervalMs: number;
}

/** The points of an answer as intervals, in order, each once; what makes no sense is left out. */
export function intervalsOf(points: readonly DataPoint[], period: StatsPeriod, meaning: PointMeaning): Interval[] {
  const { stepMs } = GRIDS.find((grid) => grid.period === period)!;
  const byStart = new Map<number, Interval>();
  for (const { at, value: y } of points) {
    const value = meaning.value === 'rate' ? (y * stepMs) / 1_000 : y;
    if (!Number.isFinite(value) || value < 0) continue;
    const from = meaning.at === 'end' ? at - stepMs : at;
    const known = byStart.get(from);
    if (known === undefined || known.value < value) byStart.set(from, { from, to: from + stepMs, value });
  }
  return [...byStart.values()].sort((a, b) => a.from - b.from);
}

/** Coarser periods that must be read to go on from this state, the coarsest first; none when the finest reaches back. */
export function periodsToFill(state: SeriesState | undefined, servedAt: number): readonly StatsPeriod[] {
  if (state === undefined) return [];
  const since = state.watermark - REVISED_MS;
  if (oldestOf(FINE, servedAt) <= since) return [];
  const grid = GRIDS.slice(1).find((candidate) => oldestOf(candidate, servedAt) <= since) ?? GRIDS.at(-1)!;
  return grid.stepMs > LONGEST_BESIDE_FINE_MS ? [grid.period, '12h'] : [grid.period];
}

/** Where a window begins, when it ends with the interval that is still filling. */
function oldestOf(grid: (typeof GRIDS)[number], servedAt: number): number {
  return (Math.floor(servedAt / grid.stepMs) - grid.points + 1) * grid.stepMs;
}

/** @returns undefined when there is nothing to begin from */
export function foldPoints(state: SeriesState | undefined, windows: FoldPoints): PointsFolded | undefined {
  const { fine, coarse = [], servedAt, settleMs } = windows;
  const edge = servedAt - settleMs;
  if (state === undefined) return begin(fine, edge);
  if (fine.length === 0) return nothing(state);
  const folding = new Folding(state, edge);
  folding.revise(fine);
  // A point that is missing at the front of the window is a hole in it, not a later beginning.
  const begins = Math.min(fine[0]!.from, oldestOf(FINE, servedAt));
  coarse.forEach((window, index) => {
    const finer = coarse[index + 1] ?? fine;
    folding.fill(window, finer, finer === fine ? begins : (finer[0]?.from ?? begins));
  });
  folding.skipTo(begins);
  folding.follow(fine, edge - windows.intervalMs - FINE.stepMs);
  return folding.end(begins);
}

/** The newest settled point is where counting begins: history is not a spike. */
function begin(fine: readonly Interval[], edge: number): PointsFolded | undefined {
  const settled = fine.filter(({ to }) => to <= edge);
  const newest = settled.at(-1);
  if (newest === undefined) return undefined;
  const last = settled.map((interval) => ({ ...interval, read: interval.value }));
  return nothing({ base: newest.to, watermark: newest.to, last });
}

function nothing(state: SeriesState): PointsFolded {
  return { state, increase: 0, points: 0, backfilled: 0, revised: 0, missed: 0 };
}

class Folding {
  readonly #base: number;
  readonly #edge: number;
  #watermark: number;
  #last: CountedInterval[];
  #increase = 0;
  #points = 0;
  #backfilled = 0;
  #revised = 0;
  #missed = 0;

  constructor(state: SeriesState, edge: number) {
    this.#base = state.base;
    this.#edge = edge;
    this.#watermark = state.watermark;
    this.#last = [...state.last];
  }

  /** Counted intervals that read higher are added to; lower ones are counted as revised alone. */
  revise(fine: readonly Interval[]): void {
    const byStart = new Map(fine.map((interval) => [interval.from, interval]));
    this.#last = this.#last.map((counted) => {
      const now = byStart.get(counted.from);
      if (now === undefined || now.to !== counted.to || now.value === counted.read) return counted;
      // Not counted, but known the better: a coarse point may reach over the beginning.
      if (counted.from < this.#base) return { ...counted, value: now.value, read: now.value };
      // A hole that is filled with nothing is no revision.
      if (counted.read !== undefined || now.value > counted.value) this.#revised += 1;
      this.#increase += Math.max(0, now.value - counted.value);
      return { ...counted, value: Math.max(counted.value, now.value), read: now.value };
    });
  }

  /** Takes the points of a coarser window up to `limit`, where the finer one begins. */
  fill(window: readonly Interval[], finer: readonly Interval[], limit: number): void {
    for (const point of window) {
      if (point.to <= this.#watermark) this.#reviseCoarse(point, limit);
      else if (point.from < limit && this.#watermark < limit && point.to <= this.#edge) this.#take(point, finer, limit);
    }
  }

  /** What no window tells is missed. */
  skipTo(at: number): void {
    if (this.#watermark >= at) return;
    this.#missed += pointsIn(at - this.#watermark);
    this.#watermark = at;
  }

  /**
   * Counts what settled, oldest first. A point that is passed over is remembered as a hole, in case it comes later. Where
   * the points of an answer are cut at other moments than those before, the first is counted from the watermark on.
   */
  follow(fine: readonly Interval[], dueBefore: number): void {
    for (const point of fine) {
      const { to } = point;
      if (to <= this.#watermark) continue;
      if (to > this.#edge) break;
      const { from, value } = this.#rest(point);
      while (this.#watermark + FINE.stepMs <= from) {
        this.#push({ from: this.#watermark, to: this.#watermark + FINE.stepMs, value: 0, read: undefined });
      }
      this.skipTo(from);
      this.#push({ from, to, value, read: value });
      this.#increase += value;
      const share = (to - from) / FINE.stepMs;
      this.#points += share;
      if (to <= dueBefore) this.#backfilled += share;
    }
  }

  /** @param begins where the finest window begins: a hole before it is never filled any more */
  end(begins: number): PointsFolded {
    const kept = Math.min(begins, this.#watermark) - KEPT_MS;
    const last = this.#last
      .filter(({ to }) => to > kept)
      .map((counted) => {
        if (counted.read !== undefined || counted.to > begins) return counted;
        this.#missed += 1;
        return { ...counted, read: counted.value };
      });
    return {
      state: { base: this.#base, watermark: this.#watermark, last },
      increase: this.#increase,
      points: this.#points,
      backfilled: this.#backfilled,
      revised: this.#revised,
      missed: this.#missed,
    };
  }

  /** What was counted before the gap may have been revised in it. The finer window has told of what it shows itself. */
  #reviseCoarse(point: Interval, limit: number): void {
    if (point.from < this.#base || point.from >= limit) return;
    // A hole that the finer window may still fill is not filled twice.
    if (this.#last.some(({ from, read }) => read === undefined && from >= limit && from < point.to)) return;
    const counted = sumWithin(this.#last, point.from, point.to);
    if (counted === undefined) return;
    const more = Math.max(0, point.value - counted);
    this.#increase += more;
    if (more > 0) this.#revised += 1;
    const first = this.#last.findIndex(({ from }) => from === point.from);
    this.#last = this.#last.map((one, index) => {
      if (one.from < point.from || one.to > point.to) return one;
      const value = one.value + (index === first ? more : 0);
      // Holes in it are told by it.
      return { ...one, value, read: one.read === undefined || index === first ? value : one.read };
    });
  }

  /** Counts of a point what is neither counted already nor told by the finer window. */
  #take(point: Interval, finer: readonly Interval[], limit: number): void {
    this.skipTo(point.from);
    const known = sumWithin(this.#last, point.from, this.#watermark);
    const tail = point.to > limit ? sumWithin(finer, limit, point.to) : 0;
    // Where the finer window has a hole, the coarse point is taken whole.
    const to = tail === undefined ? point.to : Math.min(point.to, limit);
    if (known === undefined) {
      this.skipTo(to);
      return;
    }
    const value = Math.max(0, point.value - known - (tail ?? 0));
    const points = pointsIn(to - this.#watermark);
    this.#increase += value;
    this.#points += points;
    this.#backfilled += points;
    // Holes that lie in the same point are told by it.
    this.#last = this.#last.map((one) => (one.from < point.from ? one : { ...one, read: one.read ?? one.value }));
    this.#push({ from: this.#watermark, to, value, read: value });
  }

  /** What of a point is not behind the watermark, as if it had come evenly. */
  #rest(point: Interval): Interval {
    const { from, to, value } = point;
    if (from >= this.#watermark) return point;
    return { from: this.#watermark, to, value: value * ((to - this.#watermark) / (to - from)) };
  }

  #push(counted: CountedInterval): void {
    this.#last.push(counted);
    this.#watermark = counted.to;
  }
}

/** What [from, to) holds, when these intervals cover it without gap or overhang; else undefined. */
export function sumWithin(intervals: readonly Interval[], from: number, to: number): number | undefined {
  let at = from;
  let sum = 0;
  for (const interval of intervals) {
    if (interval.to <= from) continue;
    if (at >= to) break;
    if (interval.from !== at || interval.to > to) return undefined;
    sum += interval.value;
    at = interval.to;
  }
  return at === to ? sum : undefined;
}

/** A part of a point that is missing makes the point unknown. */
function pointsIn(ms: number): number {
  return Math.ceil(ms / FINE.stepMs);
}
