import { trendOfShares, type Hold } from '#foundation/domain/hold.ts';
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { GroupFacts, GroupVerdict } from './guard.ts';

/**
 * Limits a group to the size that its campaign has reached. Allows nothing while a step is unsettled or the breaker is
 * open. A resume without a campaign is a canary of one.
 */
export function ramp({ action, campaign, matched, now }: GroupFacts): GroupVerdict {
  if (campaign === undefined) {
    const size = action === 'workflow-dlq.resume' ? 1 : matched;
    return { allowed: Math.min(matched, size), reason: 'no campaign', passed: matched <= size };
  }
  const { state, step, size, until = -Infinity } = campaign;
  if (state === 'ready') {
    return { allowed: Math.min(matched, size), reason: `step ${step}: at most ${size}`, passed: matched <= size };
  }
  const hold = { ...holdOf(campaign, now), ...(until > now && { until }) };
  return { allowed: 0, reason: hold.measured, passed: false, hold };
}

function holdOf(campaign: Campaign, now: number): Hold {
  const { state, step, until = Infinity, reason = 'reason unknown' } = campaign;
  const trend = trendOf(campaign);
  const past = trend !== undefined && { trend };
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
        needed: 'then one canary must succeed',
        ...past,
        remedy: 'find out why the resumed runs fail',
      };
    }
    case 'audit': {
      return {
        measured: `in audit: ${reason}`,
        needed: 'an operator must lift it',
        ...past,
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
function trendOf({ recent, verified, judged }: Campaign): Hold['trend'] {
  const last = { good: recent.filter(Boolean).length, all: recent.length };
  return trendOfShares({ good: verified - last.good, all: judged - last.all }, last);
}
