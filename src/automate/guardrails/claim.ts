import type { Candidate, EntryRules, Objection } from './guard.ts';

const RESUME_BLOCKS_DELETE_MS = 86_400_000;

/**
 * Prevents double actions: an id that may have had its effect is never sent again, and one run is not resumed through
 * two of its entries. An entry belongs to one policy. A run resumed within a day is not deleted.
 */
export function claim(candidate: Candidate, { action, now }: EntryRules): Objection | undefined {
  if (candidate.sentBefore) return { reason: 'sent before' };
  if (candidate.lineageTaken) return { reason: 'another entry of the same run is listed' };
  if (candidate.ownedBy !== undefined) return { reason: `belongs to ${candidate.ownedBy}` };
  if (action === 'workflow-dlq.resume') return undefined;
  const until = resumedAt(candidate) + RESUME_BLOCKS_DELETE_MS;
  return now < until ? { reason: 'resumed within a day', until } : undefined;
}

/** Time of the last resume. A resume that only the stamp records was made before the run failed again. */
function resumedAt({ attempts, lastAttemptAt, entry }: Candidate): number {
  return lastAttemptAt ?? (attempts > 0 ? entry.createdAt : -Infinity);
}
