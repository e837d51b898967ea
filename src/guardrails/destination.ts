import type { GroupFacts, GroupVerdict } from './guard.ts';

const LEAST_SAMPLE = 20;

/**
 * Runs are resumed only towards a destination that answers. Where too little is known of it, one canary may go and
 * decides.
 */
export function destination({ action, deliveries, matched }: GroupFacts): GroupVerdict {
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not asked', passed: true };
  if (deliveries === undefined) return canary(matched, 'not known');
  const { delivered, all } = deliveries;
  if (!(all >= LEAST_SAMPLE)) return canary(matched, `only ${all} in 15 minutes`);
  // Cut, not rounded: 0.90 is never shown for what is less.
  const reason = `${(Math.floor((delivered * 100) / all) / 100).toFixed(2)} of ${all}`;
  return delivered * 10 >= all * 9 ? { allowed: matched, reason, passed: true } : { allowed: 0, reason, passed: false };
}

function canary(matched: number, what: string): GroupVerdict {
  return { allowed: Math.min(matched, 1), reason: `${what}: one canary`, passed: matched <= 1 };
}
