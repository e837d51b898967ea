import type { GroupFacts, GroupVerdict } from './guard.ts';

const LEAST_SAMPLE = 20;
const WINDOW_MS = 900_000;

/**
 * Allows resumes only to a destination that responds. If too little is known about it, one canary goes first. After a
 * verified step, the group's own results count, as long as the other data agree.
 */
export function destination(facts: GroupFacts): GroupVerdict {
  const { action, deliveries, matched } = facts;
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not applicable', passed: true };
  if (deliveries === undefined) return little(facts, 'unknown', true);
  const { delivered, all, isPartial = false } = deliveries;
  const isHealthy = delivered * 10 >= all * 9;
  // Data for a part of the window can show that a destination fails, but not that it delivers.
  if (isPartial && (isHealthy || !(all >= LEAST_SAMPLE))) return little(facts, 'unknown', isHealthy);
  if (!(all >= LEAST_SAMPLE)) return little(facts, `${delivered} of ${all}, too few`, isHealthy);
  // Truncated, not rounded: a lower ratio never appears as 0.90.
  const reason = `${(Math.floor((delivered * 100) / all) / 100).toFixed(2)} of ${all}`;
  return { allowed: isHealthy ? matched : 0, reason, passed: isHealthy };
}

function little({ campaign, matched, now }: GroupFacts, what: string, agrees: boolean): GroupVerdict {
  const verifiedAt = campaign?.verifiedAt ?? -Infinity;
  if (agrees && now - verifiedAt <= WINDOW_MS) {
    return { allowed: matched, reason: `${what}; the last step was verified`, passed: true };
  }
  return { allowed: Math.min(matched, 1), reason: `${what}: one canary`, passed: matched <= 1 };
}
