import type { AuthorityFacts } from './guard.ts';

/** Waits for an operator's approval in mode `approve`, and for each plan that needs approval. */
export function approval({ mode, isApproved, needsApproval }: AuthorityFacts): string | undefined {
  if (isApproved) return undefined;
  if (needsApproval !== undefined) return `waits for approval by an operator: ${needsApproval}`;
  return mode === 'approve' ? 'waits for approval by an operator' : undefined;
}
