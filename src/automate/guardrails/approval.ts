import type { Hold } from '#foundation/domain/hold.ts';
import type { AuthorityFacts } from './guard.ts';

/** Waits for an operator's approval in mode `approve`, and for each plan that needs approval. */
export function approval({ mode, isApproved, needsApproval }: AuthorityFacts): Hold | undefined {
  if (isApproved || (needsApproval === undefined && mode !== 'approve')) return undefined;
  return {
    measured: `the plan waits for approval by an operator${needsApproval === undefined ? '' : `: ${needsApproval}`}`,
    needed: 'nothing is sent before',
    remedy: 'read the plan, then `opsd approve` or `opsd reject`',
  };
}
