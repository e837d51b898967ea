import type { Candidate, EntryRules, Objection } from './guard.ts';

/** Announces a delete: the first run that matches an entry lists it, a run after the grace period deletes it. */
export function grace({ firstMatchedAt }: Candidate, { action, grace, now }: EntryRules): Objection | undefined {
  if (action === 'workflow-dlq.resume' || grace === 0) return undefined;
  if (firstMatchedAt === undefined) return { reason: 'matched for the first time', until: now + grace };
  const until = firstMatchedAt + grace;
  return now >= until ? undefined : { reason: 'within the grace period', until };
}
