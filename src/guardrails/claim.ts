import type { Candidate, Objection } from './guard.ts';

/** An id that may have had its effect is never sent again, and one run is not resumed through two of its entries. */
export function claim({ sentBefore, lineageTaken }: Candidate): Objection | undefined {
  if (sentBefore) return { reason: 'sent before' };
  return lineageTaken ? { reason: 'another entry of the same run is listed' } : undefined;
}
