import type { Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/** Requires all preconditions to be true: an unknown one holds the run like a false one. */
export function precondition({ unmet }: RunFacts): Hold | undefined {
  if (unmet.length === 0) return undefined;
  return {
    measured: unmet.map(({ name, verdict }) => `${name} ${verdict === 'no' ? 'is false' : 'is unknown'}`).join(', '),
    needed: 'every precondition must be true',
    remedy: unmet.some(({ verdict }) => verdict === 'error')
      ? 'check the collectors of the unknown facts'
      : 'check the facts that it uses',
  };
}
