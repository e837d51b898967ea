import type { MatchedFacts } from './guard.ts';

const LEAST_POPULATION = 25;

/**
 * Catches a match of unexpected size: aborts, or asks an operator. The share of the population is checked for deletes
 * only, since after an outage everything matches a resume. An operator who saw the plan may overrule it once.
 */
export function tripwire(
  facts: MatchedFacts,
): { readonly onTrip: 'approve' | 'abort'; readonly reason: string } | undefined {
  if (facts.isApproved) return undefined;
  const reason = tooMuch(facts);
  if (reason === undefined) return undefined;
  return { onTrip: facts.onTrip, reason };
}

function tooMuch(facts: MatchedFacts): string | undefined {
  const { matched, maxMatched, population, maxMatchedShare } = facts;
  if (!(matched <= maxMatched)) return `${matched} matched, more than ${maxMatched}`;
  if (!isDelete(facts) || population === undefined || population < LEAST_POPULATION) return undefined;
  if (matched <= population * maxMatchedShare) return undefined;
  return `${matched} of ${population} matched, more than ${Math.round(maxMatchedShare * 100)} %`;
}

function isDelete({ action }: MatchedFacts): boolean {
  return action === 'workflow-dlq.delete' || action === 'message-dlq.delete' || action === 'message-dlq.prune';
}
