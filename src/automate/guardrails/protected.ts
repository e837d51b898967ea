import type { Candidate, EntryRules, Objection } from './guard.ts';

/** Denies entries with a protected label to every policy and action. Nothing overrules this guard. */
export function protectedLabel({ entry }: Candidate, { protectedLabels }: EntryRules): Objection | undefined {
  const label = protectedLabels.find((label) => entry.labels.includes(label));
  return label === undefined ? undefined : { reason: label };
}
