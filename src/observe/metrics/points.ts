/** Points of statistics, of which the newest still move. */
import type { DataPoint } from '#foundation/domain/statistics.ts';

/** A point may tell of the minute that begins or that ends at its time, and goes on changing for two minutes. */
const SETTLED_AFTER_MS = 180_000;
const DAY_MS = 86_400_000;

/** Value of the newest point that will not change any more; undefined when there is none. */
export function newestSettled(points: readonly DataPoint[] | undefined, readAt: number): number | undefined {
  let newest: DataPoint | undefined;
  for (const point of points ?? []) {
    if (point.at <= readAt - SETTLED_AFTER_MS && (newest === undefined || point.at > newest.at)) newest = point;
  }
  return newest?.value;
}

/** The point of the UTC day of `at`; undefined when the answer has none. */
export function ofDay<P extends DataPoint>(points: readonly P[] | undefined, at: number): P | undefined {
  const day = Math.floor(at / DAY_MS);
  return points?.find((point) => Math.floor(point.at / DAY_MS) === day);
}
