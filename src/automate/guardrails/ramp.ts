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
  const { state, step, size, reason: why = 'reason unknown' } = campaign;
  const until = campaign.until === undefined ? '' : ` until ${new Date(campaign.until).toISOString()}`;
  switch (state) {
    case 'ready': {
      return { allowed: Math.min(matched, size), reason: `step ${step}: at most ${size}`, passed: matched <= size };
    }
    case 'settling': {
      const isDue = (campaign.until ?? Infinity) <= now;
      const reason = isDue ? `step ${step} is judged by the next listing` : `step ${step} settles${until}`;
      return { allowed: 0, reason, passed: false };
    }
    case 'halted': {
      return { allowed: 0, reason: `halted${until}: ${why}`, passed: false };
    }
    case 'audit': {
      return { allowed: 0, reason: `in audit until an operator lifts it: ${why}`, passed: false };
    }
    case 'ended': {
      return { allowed: 0, reason: 'the campaign has ended', passed: false };
    }
  }
}
