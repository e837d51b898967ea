import type { GroupFacts, GroupVerdict } from './guard.ts';

const ALWAYS_TOLERATED = 25;
const TIMES_BASELINE = 3;

/** Denies a group while many of its runs still fail: resumed runs would fail as well. */
export function arrivals({ action, arrivals, matched }: GroupFacts): GroupVerdict {
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not applicable', passed: true };
  const most = Math.max(ALWAYS_TOLERATED, TIMES_BASELINE * arrivals.baseline10m);
  const passed = arrivals.last10m <= most;
  const reason = `${arrivals.last10m} in 10 minutes (${passed ? '≤' : '>'} ${Math.floor(most)})`;
  return { allowed: passed ? matched : 0, reason, passed };
}
