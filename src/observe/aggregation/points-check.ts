/**
 * Checks that points mean what the settings say. The sum of today's points is compared with today's value in the daily
 * arrays of the same response. The check finds a rate that is treated as a sum, and a time that is treated as the wrong
 * end of its interval.
 */
import type { AccountStats, DataPoint, PointsCheck } from '#foundation/domain/statistics.ts';
import { intervalsOf, type PointMeaning } from './points.ts';

const DAY_MS = 86_400_000;
/** Minimum age of the day. Earlier, a few late points weigh too much. */
const LEAST_OF_DAY_MS = 2 * 3_600_000;
const TOLERATED = 20;
/** Tolerated lateness. It is less than one point (24 min), the difference between the two ends of an interval. */
const TOLERATED_MS = 8 * 60_000;

/** @returns undefined if it is too early in the day */
export function checkPoints(day: AccountStats, at: number, meaning: PointMeaning): PointsCheck | undefined {
  const midnight = Math.floor(at / DAY_MS) * DAY_MS;
  if (at - midnight < LEAST_OF_DAY_MS) return undefined;
  const ofPoints = (points: readonly DataPoint[] | undefined): number | undefined =>
    points &&
    intervalsOf(points, '1d', meaning)
      .filter(({ from, to }) => to > midnight && from <= at)
      // Points that span midnight count with the part that lies in today.
      .reduce((sum, { from, to, value }) => sum + value * ((to - Math.max(from, midnight)) / (to - from)), 0);
  const today = <P extends DataPoint>(points: readonly P[] | undefined): P | undefined =>
    points?.find((point) => Math.floor(point.at / DAY_MS) * DAY_MS === midnight);
  const used = ofPoints(day.used);
  const usedWorkflow = ofPoints(day.usedWorkflow);
  const requests = today(day.dailyRequests);
  const compared = [
    { source: 'used', points: used === undefined ? undefined : used + (usedWorkflow ?? 0), day: requests?.value },
    { source: 'used_workflow', points: usedWorkflow, day: requests?.workflowMessages },
    { source: 'bandwidth', points: ofPoints(day.bandwidthUsed), day: today(day.dailyBandwidths)?.value },
  ];
  return {
    at,
    sources: compared.flatMap(({ source, points, day: whole }) => {
      if (points === undefined || whole === undefined) return [];
      const isWrong =
        Math.abs(points - whole) > Math.max(TOLERATED, (Math.max(points, whole) * TOLERATED_MS) / (at - midnight));
      return [{ source, points, day: whole, isWrong }];
    }),
  };
}
