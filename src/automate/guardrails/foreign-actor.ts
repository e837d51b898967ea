import type { Candidate, Objection } from './guard.ts';

/**
 * Denies an entry that another instance repairs. Two instances that do not know each other's attempts would double
 * them.
 */
export function foreignActor({ foreignInstance }: Candidate): Objection | undefined {
  return foreignInstance === undefined ? undefined : { reason: `stamped by instance ${foreignInstance}` };
}
