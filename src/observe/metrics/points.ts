/** Selects points of statistics. The newest points may still change. */
import type { DataPoint } from '#foundation/domain/statistics.ts';

/** Age of a settled point. A point may cover the minute before or after its time, and changes for two more minutes. */
const SETTLED_AFTER_MS = 180_000;
const DAY_MS = 86_400_000;

/** Returns the value of the newest settled point; undefined if there is none. */
export function newestSettled(points: readonly DataPoint[] | undefined, readAt: number): number | undefined {
  let newest: DataPoint | undefined;
  for (const point of points ?? []) {
    if (point.at <= readAt - SETTLED_AFTER_MS && (newest === undefined || point.at > newest.at)) newest = point;
  }
  return newest?.value;
}

/** Returns the point of the UTC day of `at`; undefined if the response has none. */
export function ofDay<P extends DataPoint>(points: readonly P[] | undefined, at: number): P | undefined {
  const day = Math.floor(at / DAY_MS);
  return points?.find((point) => Math.floor(point.at / DAY_MS) === day);
}
