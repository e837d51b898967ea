import type { AuthorityFacts } from './guard.ts';

/** `approve`, and a plan that asks for it, wait for a person. */
export function approval({ mode, isApproved, needsApproval }: AuthorityFacts): string | undefined {
  if (isApproved) return undefined;
  if (needsApproval !== undefined) return `waits for the approval of a person: ${needsApproval}`;
  return mode === 'approve' ? 'waits for the approval of a person' : undefined;
}
