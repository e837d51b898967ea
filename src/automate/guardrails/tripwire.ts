import type { Hold } from '#foundation/domain/hold.ts';
import type { MatchedFacts } from './guard.ts';

const LEAST_POPULATION = 25;

/**
 * Catches a match of unexpected size: aborts, or asks an operator. The share of the population is checked for deletes
 * only, since after an outage everything matches a resume. An operator who saw the plan may overrule it once.
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
