/**
 * Time to work through all matched entries, by the ramp of each group and the policy's own caps, and the number of
 * entries that expire before. If only some expiries are unknown, the number is a lower bound.
 */
import type { Plan, PlanCampaign } from '#foundation/domain/plan.ts';
import type { GroupedPolicy } from './groups.ts';

const HOUR_MS = 3_600_000;
/** Delay between the end of a step and the listing that judges it. */
const JUDGING_MS = 60_000;

/** @param expiries time at which each matched entry expires; Infinity if unknown */
export function drainOf(
  policy: GroupedPolicy,
  expiries: readonly number[] | Float64Array,
  campaigns: readonly PlanCampaign[],
  now: number,
): Plan['drain'] {
  // A group in audit waits for an operator, so no time can be estimated.
  if (expiries.length === 0 || campaigns.some(({ state }) => state === 'audit')) return undefined;
  const byCaps = (Math.max(0, expiries.length - policy.limits.maxPerRun) / policy.limits.maxPerHour) * HOUR_MS;
  const ms = Math.max(byCaps, ...campaigns.map((campaign) => waitMs(campaign, now) + rampMs(policy, campaign)));
  const unknownExpiries = expiries.filter((at) => at === Infinity).length;
  if (unknownExpiries === expiries.length) return { ms };
  const expiring = expiries.filter((at) => at < now + ms).length;
  return { ms, expiring, ...(unknownExpiries > 0 && { unknownExpiries }) };
}

/** Milliseconds until the group's step is judged, or its halt ends. */
function waitMs({ state, until = 0 }: PlanCampaign, now: number): number {
  return state === 'halted' || state === 'settling' ? Math.max(0, until - now) : 0;
}

function rampMs(policy: GroupedPolicy, campaign: PlanCampaign): number {
  if (!('ramp' in policy)) return 0;
  const { factor, max, settle } = policy.ramp;
  let size = Math.max(1, campaign.now);
  let left = campaign.matched - campaign.now;
  let steps = 0;
  while (left > 0) {
    size = Math.min(max, Math.max(size + 1, Math.floor(size * factor)));
    // All later steps have the maximum size.
    if (size === max) return (steps + Math.ceil(left / max)) * (settle + JUDGING_MS);
    left -= size;
    steps++;
  }
  return steps * (settle + JUDGING_MS);
}
