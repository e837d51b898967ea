import type { AuthorityFacts } from './guard.ts';

/**
 * Keeps a new or widened policy in audit first, so that someone sees its deletes. An operator who approves the plan has
 * seen them.
 */
export function probation({ mode, isApproved, probationLeft }: AuthorityFacts): string | undefined {
  if (mode === 'approve' || isApproved || probationLeft <= 0) return undefined;
  return `on probation: ${probationLeft} more ${probationLeft === 1 ? 'run' : 'runs'} in audit`;
}
