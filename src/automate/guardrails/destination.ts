import { DESTINATION_RULES, isFailing, isHealthy as isDelivering } from '#foundation/domain/destination-state.ts';
import { trendOfShares, type Hold } from '#foundation/domain/hold.ts';
import type { Deliveries, GroupFacts, GroupVerdict } from './guard.ts';

const { leastSample: LEAST_SAMPLE, windowMs: WINDOW_MS } = DESTINATION_RULES;

/**
 * Allows resumes only to a destination that responds. If too little is known about it, one canary goes first. After a
 * verified step, the group's own results count, as long as the other data agree.
 */
export function destination(facts: GroupFacts): GroupVerdict {
  const { action, deliveries, matched } = facts;
  if (action !== 'workflow-dlq.resume') return { allowed: matched, reason: 'not applicable', passed: true };
  if (deliveries === undefined) return little(facts, 'unknown', true);
  const { delivered, all, isPartial = false } = deliveries;
  const isHealthy = isDelivering(deliveries);
  // A failing destination is no unknown one: every view reports its outage.
  const isEnough = all >= LEAST_SAMPLE || isFailing(deliveries);
  // Data for a part of the window can show that a destination fails, but not that it delivers.
  if (isPartial && (isHealthy || !isEnough)) return little(facts, 'unknown', isHealthy);
  if (!isEnough) return little(facts, `${delivered} of ${all}, too few`, isHealthy);
  // Truncated, not rounded: a lower ratio never appears as 0.90.
  const reason = `${(Math.floor((delivered * 100) / all) / 100).toFixed(2)} of ${all}`;
  if (isHealthy) return { allowed: matched, reason, passed: true };
  return { allowed: 0, reason, passed: false, hold: holdOf(facts, deliveries) };
}

function holdOf({ group, destination: host = group }: GroupFacts, deliveries: Deliveries): Hold {
  const { delivered, all, isPartial = false } = deliveries;
  const trend = trendOf(deliveries);
  return {
    measured: `${host} delivered ${delivered} of ${isPartial ? 'at least ' : ''}${all} attempts in the last 15 minutes`,
    needed: `resumes begin at ${DESTINATION_RULES.healthyPercent} %`,
    windowMs: WINDOW_MS,
    ...(trend !== undefined && { trend }),
    remedy: 'repair the destination',
  };
}

/** Compares the newer half of the window with the older half. */
function trendOf({ delivered, all, newer }: Deliveries): Hold['trend'] {
  if (newer === undefined) return undefined;
  const older = { good: delivered - newer.delivered, all: all - newer.all };
  return trendOfShares(older, { good: newer.delivered, all: newer.all });
}

function little({ campaign, matched, now }: GroupFacts, what: string, agrees: boolean): GroupVerdict {
  const verifiedAt = campaign?.verifiedAt ?? -Infinity;
  if (agrees && now - verifiedAt <= WINDOW_MS) {
    return { allowed: matched, reason: `${what}; the last step was verified`, passed: true };
  }
  return { allowed: Math.min(matched, 1), reason: `${what}: one canary`, passed: matched <= 1 };
}
