import { sharedLabel } from '#foundation/domain/labels.ts';
import type { Candidate, EntryRules, Objection } from './guard.ts';

/** Denies entries with a protected label to every policy and action. Nothing overrules this guard. */
export function protectedLabel({ entry }: Candidate, { protectedLabels }: EntryRules): Objection | undefined {
  const label = sharedLabel(entry.labels, protectedLabels);
  return label === undefined ? undefined : { reason: label };
}
