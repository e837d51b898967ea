import type { RunFacts } from './guard.ts';

/** Requires all preconditions to be true: an unknown one holds the run like a false one. */
export function precondition({ unmet }: RunFacts): string | undefined {
  if (unmet.length === 0) return undefined;
  return unmet.map(({ name, verdict }) => `${name} ${verdict === 'no' ? 'is false' : 'is unknown'}`).join(', ');
}
