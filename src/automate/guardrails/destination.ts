import type { GroupFacts, GroupVerdict } from './guard.ts';

const LEAST_SAMPLE = 20;
const WINDOW_MS = 900_000;

/**
 * Runs are resumed only towards a destination that answers. Where too little is known of it, one canary may go and
 * decides: once it is verified, the group's own steps are what is known, as long as what else is known agrees.
 */
export function destination(facts: GroupFacts): GroupVerdict {
  const { action, deliveries, matched } = facts;
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not asked', passed: true };
  if (deliveries === undefined) return little(facts, 'not known', true);
  const { delivered, all, isPartial = false } = deliveries;
  const isHealthy = delivered * 10 >= all * 9;
  // A part of the time can show that a destination fails, and not that it answers.
  if (isPartial && (isHealthy || !(all >= LEAST_SAMPLE))) return little(facts, 'not known', isHealthy);
  if (!(all >= LEAST_SAMPLE)) return little(facts, `${delivered} of ${all}, too few`, isHealthy);
  // Cut, not rounded: 0.90 is never shown for what is less.
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
