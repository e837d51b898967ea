/**
 * Aggregates windows of points into a counter. The statistics report the amount of each of the last intervals. An aggregation adds
 * each interval once, as soon as it is settled, and adds later increases of it. After a gap that is longer than the
 * finest window, coarser windows fill it. Amounts that coarser windows do not determine exactly are counted as missed
 * and never guessed.
 *
 * Times are epoch milliseconds; intervals are [from, to).
 */
import type { DataPoint, StatsPeriod } from '#foundation/domain/statistics.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Number and distance of the points of each period. The first period is the finest, and the one that is aggregated. */
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

/** Time before the watermark when an interval may have been revised during a gap. */
const REVISED_MS = 20 * MINUTE_MS;
/** Missing time at the front of a window that single missing points do not explain. */
const SHORT_MS = 10 * MINUTE_MS;
/**
 * Retention of counted intervals. It exceeds the coarsest point (3 h), so that the overlap with that point can be
 * computed.
 */
const KEPT_MS = 4 * HOUR_MS;
/**
 * Longest point that certainly ends before the finest window begins. For longer points another window is read in
 * between.
 */
const LONGEST_BESIDE_FINE_MS = 50 * MINUTE_MS;

/** Properties of points that the interface does not define. */
export interface PointMeaning {
  /** Meaning of the value: the amount of the interval, or the amount per second. */
  readonly value: 'sum' | 'rate';
  /** End of the interval that a point's time marks. */
  readonly at: 'start' | 'end';
}

/** Amount that falls into [from, to). */
export interface Interval {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** Interval as it was counted. */
export interface CountedInterval extends Interval {
  /** Value last read. Less than `value` if it decreased; undefined while the response lacks its point. */
  readonly read: number | undefined;
}

export interface SeriesState {
  /** Start of counting. Earlier intervals are known and not counted. */
  readonly base: number;
  /** End of the newest counted interval. */
  readonly watermark: number;
  /** Last counted intervals, in order. */
  readonly last: readonly CountedInterval[];
}

export interface PointsAggregate {
  readonly state: SeriesState;
  readonly increase: number;
  /** Number of points aggregated in, in points of the finest period. */
  readonly points: number;
  /** Number of these points that were due before the previous poll. */
  readonly backfilled: number;
  /** Number of intervals whose value changed since they were counted. */
  readonly revised: number;
  /** Number of points whose amount can no longer be known. */
  readonly missed: number;
}

export interface AggregatePoints {
  /** Intervals of the finest period. */
  readonly fine: readonly Interval[];
  /** Intervals of coarser periods, coarsest first. */
  readonly coarse?: readonly (readonly Interval[])[];
  /** Time of the response, by the service's clock. */
  readonly servedAt: number;
  /** Time after its end when an interval is considered complete. */
  readonly settleMs: number;
  /** Time between polls. */
  readonly intervalMs: number;
}

/** Converts the points of a response to intervals, in order and without duplicates. Invalid points are dropped. */
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

/**
 * Returns the coarser periods that must be read to continue from this state, coarsest first. Empty if the finest window
 * reaches back far enough.
 */
export function periodsToFill(state: SeriesState | undefined, servedAt: number): readonly StatsPeriod[] {
  if (state === undefined) return [];
  const since = state.watermark - REVISED_MS;
  if (oldestOf(FINE, servedAt) <= since) return [];
  const grid = GRIDS.slice(1).find((candidate) => oldestOf(candidate, servedAt) <= since) ?? GRIDS.at(-1)!;
  return grid.stepMs > LONGEST_BESIDE_FINE_MS ? [grid.period, '12h'] : [grid.period];
}

/** Returns the start of a window that ends with the interval in progress. */
function oldestOf(grid: (typeof GRIDS)[number], servedAt: number): number {
  return (Math.floor(servedAt / grid.stepMs) - grid.points + 1) * grid.stepMs;
}

/** @returns undefined if there is no settled point to start from */
export function aggregatePoints(state: SeriesState | undefined, windows: AggregatePoints): PointsAggregate | undefined {
  const { fine, coarse = [], servedAt, settleMs } = windows;
  const edge = servedAt - settleMs;
  if (state === undefined) return begin(fine, edge);
  if (fine.length === 0) return nothing(state);
  const counting = new PointCount(state, edge);
  counting.revise(fine);
  // A missing point at the front of the window is a hole, not a later start.
  const begins = Math.min(fine[0]!.from, oldestOf(FINE, servedAt));
  coarse.forEach((window, index) => {
    const finer = coarse[index + 1] ?? fine;
    counting.fill(window, finer, finer === fine ? begins : (finer[0]?.from ?? begins));
  });
  counting.skipTo(begins);
  counting.follow(fine, edge - windows.intervalMs - FINE.stepMs);
  return counting.end(begins, isShort(fine, servedAt) ? fine[0]!.from : begins);
}

/**
 * Returns true if the service returned fewer points than the period has: the newest ones, without a hole. One such
 * response may come from a server that lags. After a second one, the earlier points are no longer awaited.
 */
function isShort(fine: readonly Interval[], servedAt: number): boolean {
  const { from } = fine[0]!;
  return from - oldestOf(FINE, servedAt) >= SHORT_MS && fine.at(-1)!.to - from === fine.length * FINE.stepMs;
}

/** Starts counting at the newest settled point: history is not a spike. */
function begin(fine: readonly Interval[], edge: number): PointsAggregate | undefined {
  const settled = fine.filter(({ to }) => to <= edge);
  const newest = settled.at(-1);
  if (newest === undefined) return undefined;
  const last = settled.map((interval) => ({ ...interval, read: interval.value }));
  return nothing({ base: newest.to, watermark: newest.to, last });
}

function nothing(state: SeriesState): PointsAggregate {
  return { state, increase: 0, points: 0, backfilled: 0, revised: 0, missed: 0 };
}

class PointCount {
  readonly #base: number;
  readonly #edge: number;
  /** End of the intervals that earlier responses have counted. */
  readonly #known: number;
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
    this.#known = state.watermark;
    this.#watermark = state.watermark;
    this.#last = [...state.last];
  }

  /** Revises counted intervals. An increase is added; a decrease is only counted as a revision. */
  revise(fine: readonly Interval[]): void {
    const byStart = new Map(fine.map((interval) => [interval.from, interval]));
    this.#last = this.#last.map((counted) => {
      const now = byStart.get(counted.from);
      if (now === undefined || now.to !== counted.to || now.value === counted.read) return counted;
      // This interval is not counted. Its exact value helps when a coarse point spans the start of counting.
      if (counted.from < this.#base) return { ...counted, value: now.value, read: now.value };
      // A hole that is filled with 0 is not a revision.
      if (counted.read !== undefined || now.value > counted.value) this.#revised += 1;
      this.#increase += Math.max(0, now.value - counted.value);
      return { ...counted, value: Math.max(counted.value, now.value), read: now.value };
    });
  }

  /** Adds the points of a coarser window up to `limit`, where the finer window begins. */
  fill(window: readonly Interval[], finer: readonly Interval[], limit: number): void {
    for (const point of window) {
      if (point.to <= this.#watermark) this.#reviseCoarse(point, limit);
      else if (point.from < limit && this.#watermark < limit && point.to <= this.#edge) this.#take(point, finer, limit);
    }
  }

  /** Moves the watermark. The amount in between is in no window and is counted as missed. */
  skipTo(at: number): void {
    if (this.#watermark >= at) return;
    this.#missed += pointsIn(at - this.#watermark);
    this.#watermark = at;
  }

  /**
   * Counts the settled points, oldest first. A missing point is remembered as a hole, in case it arrives later. If the
   * points of a response start at other moments than the previous ones, the first is counted from the watermark on.
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

  /**
   * @param begins start of the finest window; an earlier hole is never filled
   * @param served start of the points in the response; a hole before it that an earlier response had is missed
   */
  end(begins: number, served: number): PointsAggregate {
    const kept = Math.min(begins, this.#watermark) - KEPT_MS;
    const last = this.#last
      .filter(({ to }) => to > kept)
      .map((counted) => {
        if (counted.read !== undefined || counted.to > Math.max(begins, Math.min(served, this.#known))) return counted;
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

  /**
   * Revises intervals that were counted before the gap and may have changed during it. The finer window has already
   * revised the intervals that it covers.
   */
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
      // This point includes its holes.
      return { ...one, value, read: one.read === undefined || index === first ? value : one.read };
    });
  }

  /** Counts the part of a point that is neither counted nor covered by the finer window. */
  #take(point: Interval, finer: readonly Interval[], limit: number): void {
    this.skipTo(point.from);
    const known = sumWithin(this.#last, point.from, this.#watermark);
    const tail = point.to > limit ? sumWithin(finer, limit, point.to) : 0;
    // If the finer window has a hole, the whole coarse point is counted.
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
    // This point includes the holes that lie in it.
    this.#last = this.#last.map((one) => (one.from < point.from ? one : { ...one, read: one.read ?? one.value }));
    this.#push({ from: this.#watermark, to, value, read: value });
  }

  /** Returns the part of a point after the watermark, as if its amount were evenly distributed. */
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

/** Returns the amount of [from, to) if these intervals cover it without gap or overhang; else undefined. */
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

/** Returns the number of points in a duration. A point that is partly missing counts as missing. */
function pointsIn(ms: number): number {
  return Math.ceil(ms / FINE.stepMs);
}
