import type { Hold } from '#foundation/domain/hold.ts';
import type { AuthorityFacts } from './guard.ts';

/**
 * Keeps a new or widened policy in audit first, so that someone sees its deletes. An operator who approves the plan has
 * seen them.
 */
export function probation({ mode, isApproved, probationLeft }: AuthorityFacts): Hold | undefined {
  if (mode === 'approve' || isApproved || probationLeft <= 0) return undefined;
  return {
    measured: `on probation: ${probationLeft} more ${probationLeft === 1 ? 'run' : 'runs'} in audit`,
    needed: 'a new or widened policy makes its audit runs first',
    remedy: 'review the audit runs, or apply the plan',
  };
}
