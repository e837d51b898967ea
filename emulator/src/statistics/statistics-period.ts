/** The `period` of both statistics operations: number of points, their distance, and their start times. */
import { MINUTE_MS } from './point-time.ts';

/** Number of points and minutes between them. 30d has 240 points at 3 hours, every other period 60. */
const PERIODS = {
  '1h': { points: 60, stepMinutes: 1 },
  '3h': { points: 60, stepMinutes: 3 },
  '12h': { points: 60, stepMinutes: 12 },
  '1d': { points: 60, stepMinutes: 24 },
  '3d': { points: 60, stepMinutes: 72 },
  '7d': { points: 60, stepMinutes: 168 },
  '30d': { points: 240, stepMinutes: 180 },
} as const;

export type StatsPeriodName = keyof typeof PERIODS;

export const STATS_PERIOD_NAMES = Object.keys(PERIODS) as readonly StatsPeriodName[];

export interface PointGrid {
  readonly stepMinutes: number;
  /** First minute (since the epoch) of each point, oldest first. A point covers [start, start + step). */
  readonly starts: readonly number[];
}

/** Returns the grid of a period. It ends with the point that contains `now`, which is still incomplete. */
export function pointGrid(period: StatsPeriodName, now: number): PointGrid {
  const { points, stepMinutes } = PERIODS[period];
  const newest = Math.floor(now / (stepMinutes * MINUTE_MS)) * stepMinutes;
  const oldest = newest - (points - 1) * stepMinutes;
  return { stepMinutes, starts: Array.from({ length: points }, (_, index) => oldest + index * stepMinutes) };
}
