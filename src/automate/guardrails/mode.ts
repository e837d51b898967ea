import type { Hold } from '#foundation/domain/hold.ts';
import type { AuthorityFacts } from './guard.ts';

/** Holds all requests in modes `off` and `audit`, even of an approved plan. Both modes still decide and record. */
export function mode({ mode, reducedBy }: AuthorityFacts): Hold | undefined {
  if (mode !== 'off' && mode !== 'audit') return undefined;
  return {
    measured: `the mode is ${mode}${reducedBy === undefined ? '' : ` (${reducedBy})`}`,
    needed: 'requests are sent in mode approve or enforce',
    remedy: reducedBy === undefined ? 'when the plans are right, set `mode: enforce`' : 'change what lowers the mode',
  };
}
