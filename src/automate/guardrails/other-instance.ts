import type { Candidate, Objection } from './guard.ts';

/**
 * Denies an entry that another instance repairs. Two instances that do not know each other's attempts would double
 * them.
 */
export function otherInstance({ stampedBy }: Candidate): Objection | undefined {
  return stampedBy === undefined ? undefined : { reason: `stamped by instance ${stampedBy}` };
}
