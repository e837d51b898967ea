/** Guards of the account, of all matched entries, and of groups of entries. */
import { counted } from '#foundation/domain/counted.ts';
import type { Campaign } from '#foundation/domain/campaign.ts';
import { DESTINATION_RULES, isFailing, isHealthy as isDelivering } from '#foundation/domain/destination-state.ts';
import { isRepair } from '#foundation/domain/plan.ts';
import { isoTime, trendOfAmounts, trendOfShares, type Hold } from '#foundation/domain/hold.ts';
import type { QuotaFacts, Arrivals, Deliveries, GroupFacts, GroupVerdict, MatchedFacts } from './guard.ts';

const HOLD_MS = 600_000;
const ARRIVALS_MS = 900_000;

/**
 * Holds an account that had a 429 or an exhausted quota within 10 minutes, or more than a fifth of whose new failures
 * are 429. A raise of the budget is exempt. Remedy: raise the budget or the limit of the plan, or send less.
 */
export function quota({ action, refusedAt, recentArrivals, now }: QuotaFacts): Hold | undefined {
  if (action === 'budget.raise') return undefined;
  const remedy = 'raise the budget or the limit of the plan, or send less';
  if (refusedAt !== undefined && !(now - refusedAt >= HOLD_MS)) {
    return {
      measured: `the service rejected a request with 429 or for its quota at ${isoTime(Math.round(refusedAt))}`,
      needed: 'the last rejection must be 10 minutes old',
      windowMs: HOLD_MS,
      since: refusedAt,
      until: refusedAt + HOLD_MS,
      remedy,
    };
  }
  const { all, quota, newer } = recentArrivals;
  if (quota * 5 <= all) return undefined;
  const older = newer && { all: all - newer.all, quota: quota - newer.quota };
  return {
    measured: `${quota} of ${all} entries that failed in the last 15 minutes failed with 429`,
    needed: 'at most a fifth is allowed',
    windowMs: ARRIVALS_MS,
    trend: older && trendOfShares(othersOf(older), othersOf(newer)),
    remedy,
  };
}

function othersOf({ all, quota }: Arrivals) {
  return { good: all - quota, all };
}

const LEAST_POPULATION = 25;

/**
 * Catches a match of unexpected size: more than `limits.maxMatched` entries (resumes 10,000, deletes 200), or for
 * deletes more than 25 % of at least 25 known entries. `limits.onTrip` aborts the run (deletes) or requires an approval
 * (resumes). Remedy: read the plan. If the number is intended, approve it; otherwise narrow the policy.
 */
export function tripwire(
  facts: MatchedFacts,
): { readonly onTrip: 'approve' | 'abort'; readonly hold: Hold } | undefined {
  const found = facts.isApproved ? undefined : tooMuch(facts);
  if (found === undefined) return undefined;
  const { onTrip } = facts;
  const remedy = onTrip === 'approve' ? 'read the plan, then approve or reject it' : 'narrow the policy';
  return { onTrip, hold: { ...found, remedy } };
}

function tooMuch(facts: MatchedFacts): Omit<Hold, 'remedy'> | undefined {
  const { allowed, maxMatched, population, maxMatchedShare } = facts;
  if (!(allowed <= maxMatched)) {
    return { measured: `${allowed} entries to act on`, needed: `limits.maxMatched is ${maxMatched}` };
  }
  if (!isDelete(facts) || population === undefined || population < LEAST_POPULATION) return undefined;
  if (allowed <= population * maxMatchedShare) return undefined;
  const share = `${Math.round(maxMatchedShare * 100)} %`;
  return { measured: `${allowed} of ${population} entries to act on`, needed: `limits.maxMatchedShare is ${share}` };
}

function isDelete({ action }: MatchedFacts): boolean {
  return action === 'workflow-dlq.delete' || action === 'message-dlq.delete' || action === 'message-dlq.prune';
}

const { leastSample: LEAST_SAMPLE, windowMs: WINDOW_MS } = DESTINATION_RULES;

/**
 * Allows repairs only to a destination that responds: at least 0.9 of its delivery attempts, 20 or more, succeeded
 * within 15 minutes. With fewer attempts one canary goes first; after a verified step, the group's own results count,
 * as long as the other data agree. If at least 10 are known and fewer than 0.1 succeeded, nothing is sent. Successes
 * count only after 15 minutes of observation; the store keeps them. Remedy: repair the destination.
 */
export function destination(facts: GroupFacts): GroupVerdict {
  const { action, deliveries, matched } = facts;
  if (!isRepair(action)) return { allowed: matched, reason: 'not applicable', passed: true };
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
  return { allowed: 0, reason, passed: false, hold: failureHold(facts, deliveries) };
}

function failureHold({ group, destination: host = group, deliveriesMs }: GroupFacts, deliveries: Deliveries): Hold {
  const { delivered, all, isPartial = false } = deliveries;
  return {
    measured: `${host} delivered ${delivered} of ${isPartial ? 'at least ' : ''}${all} attempts in the last ${counted(Math.ceil(deliveriesMs / 60_000), 'minute')}`,
    needed: `repairs begin at ${DESTINATION_RULES.healthyPercent} %`,
    windowMs: deliveriesMs,
    trend: deliveriesTrend(deliveries),
    remedy: 'repair the destination',
  };
}

/** Compares the newer half of the window with the older half. */
function deliveriesTrend({ delivered, all, newer }: Deliveries): Hold['trend'] {
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

const ALWAYS_TOLERATED = 25;
const TIMES_BASELINE = 3;
const NEW_FAILURES_MS = 600_000;

/**
 * Holds a group if more than 25 of its entries failed within 10 minutes, and more than 3 times the mean of the last 24 h.
 * Remedy: repair the cause of the failures.
 */
export function arrivals({ action, arrivals, matched }: GroupFacts): GroupVerdict {
  if (!isRepair(action)) return { allowed: matched, reason: 'not applicable', passed: true };
  const most = Math.max(ALWAYS_TOLERATED, TIMES_BASELINE * arrivals.baseline10m);
  const passed = arrivals.last10m <= most;
  const reason = `${arrivals.last10m} in 10 minutes (${passed ? '≤' : '>'} ${Math.floor(most)})`;
  if (passed) return { allowed: matched, reason, passed };
  const { last10m, last5m = Number.NaN } = arrivals;
  const hold = {
    measured: `${arrivals.last10m} entries of the group failed in the last 10 minutes`,
    needed: `repairs need at most ${Math.floor(most)}`,
    windowMs: NEW_FAILURES_MS,
    trend: trendOfAmounts(last10m - last5m, last5m),
    remedy: 'repair the cause of the failures',
  };
  return { allowed: 0, reason, passed, hold };
}

/**
 * Limits a group to the step that its campaign has reached: from 1, times 3, up to 500. Allows nothing while a step
 * settles or the group is halted (30 min, 2 h, 6 h, then audit). A repair without a campaign is a canary of one.
 * Remedy: find out why the entries fail again; the next canary is sent automatically. For a group in audit mode, then
 * lift the halt.
 */
export function ramp({ action, campaign, matched, now }: GroupFacts): GroupVerdict {
  if (campaign === undefined) {
    const size = isRepair(action) ? 1 : matched;
    return { allowed: Math.min(matched, size), reason: 'no campaign', passed: matched <= size };
  }
  const { state, step, size, until = -Infinity } = campaign;
  if (state === 'ready') {
    return { allowed: Math.min(matched, size), reason: `step ${step}: at most ${size}`, passed: matched <= size };
  }
  const hold = { ...campaignHold(campaign, now), until: until > now ? until : undefined };
  return { allowed: 0, reason: hold.measured, passed: false, hold };
}

function campaignHold(campaign: Campaign, now: number): Hold {
  const { state, step, until = Infinity, reason = 'reason unknown' } = campaign;
  const trend = resultsTrend(campaign);
  switch (state) {
    case 'ready':
    case 'settling': {
      return {
        measured: `step ${step} ${until <= now ? 'is judged by the next listing' : 'settles'}`,
        needed: 'its results decide about the next step',
        remedy: 'wait',
      };
    }
    case 'halted': {
      return {
        measured: `halted: ${reason}`,
        needed: `${campaign.deploy === undefined ? 'then' : 'after the next deploy'} one canary must succeed`,
        trend,
        remedy: 'find out why the entries fail again',
      };
    }
    case 'audit': {
      return {
        measured: `in audit: ${reason}`,
        needed: 'an operator must lift it',
        trend,
        remedy: 'repair the cause, then `opsd unpause --policy POLICY --group GROUP --reason TEXT`',
      };
    }
    case 'ended': {
      return {
        measured: 'the campaign has ended',
        needed: 'the next run begins another one',
        remedy: 'wait for the next run',
      };
    }
  }
}

/** Compares the share of verified results among the last ones with that of all before them. */
function resultsTrend({ recent, verified, judged }: Campaign): Hold['trend'] {
  const last = { good: recent.filter(Boolean).length, all: recent.length };
  return trendOfShares({ good: verified - last.good, all: judged - last.all }, last);
}
