import type { AuthorityFacts } from './guard.ts';

/** What a new or widened policy would delete is first seen. A person who approves the plan has seen it. */
export function probation({ mode, isApproved, probationLeft }: AuthorityFacts): string | undefined {
  if (mode === 'approve' || isApproved || probationLeft <= 0) return undefined;
  return `on probation: ${probationLeft} more ${probationLeft === 1 ? 'run' : 'runs'} in audit`;
}
