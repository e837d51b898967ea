import { trendOfAmounts } from '#foundation/domain/hold.ts';
import type { GroupFacts, GroupVerdict } from './guard.ts';

const ALWAYS_TOLERATED = 25;
const TIMES_BASELINE = 3;
const WINDOW_MS = 600_000;

/** Denies a group while many of its runs still fail: resumed runs would fail as well. */
export function arrivals({ action, arrivals, matched }: GroupFacts): GroupVerdict {
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not applicable', passed: true };
  const most = Math.max(ALWAYS_TOLERATED, TIMES_BASELINE * arrivals.baseline10m);
  const passed = arrivals.last10m <= most;
  const reason = `${arrivals.last10m} in 10 minutes (${passed ? '≤' : '>'} ${Math.floor(most)})`;
  if (passed) return { allowed: matched, reason, passed };
  const { last10m, last5m = Number.NaN } = arrivals;
  const trend = trendOfAmounts(last10m - last5m, last5m);
  const hold = {
    measured: `${arrivals.last10m} runs of the group failed in the last 10 minutes`,
    needed: `resumes need at most ${Math.floor(most)}`,
    windowMs: WINDOW_MS,
    ...(trend !== undefined && { trend }),
    remedy: 'repair the cause of the failures',
  };
  return { allowed: 0, reason, passed, hold };
}
