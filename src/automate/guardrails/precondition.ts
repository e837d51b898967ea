import type { RunFacts } from './guard.ts';

/** All preconditions must be true: what is not known holds as what is false does. */
export function precondition({ unmet }: RunFacts): string | undefined {
  if (unmet.length === 0) return undefined;
  return unmet.map(({ name, verdict }) => `${name} ${verdict === 'no' ? 'is false' : 'is not known'}`).join(', ');
}
