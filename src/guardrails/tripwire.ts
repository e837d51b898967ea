import type { MatchedFacts } from './guard.ts';

const LEAST_POPULATION = 25;

/**
 * So much at once was not meant. Deletes act on none, whatever `onTrip` says; a resume may ask a person, since after
 * an outage everything matches. A person who saw the plan may overrule it once.
 */
export function tripwire(
  facts: MatchedFacts,
): { readonly onTrip: 'approve' | 'abort'; readonly reason: string } | undefined {
  if (facts.isApproved) return undefined;
  const reason = tooMuch(facts);
  if (reason === undefined) return undefined;
  return { onTrip: isDelete(facts) ? 'abort' : facts.onTrip, reason };
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
