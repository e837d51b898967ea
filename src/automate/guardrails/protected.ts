import type { Candidate, EntryRules, Objection } from './guard.ts';

/** Protected labels are stronger than any policy and any action. Nothing overrules them. */
export function protectedLabel({ entry }: Candidate, { protectedLabels }: EntryRules): Objection | undefined {
  const label = protectedLabels.find((label) => entry.labels.includes(label));
  return label === undefined ? undefined : { reason: label };
}
