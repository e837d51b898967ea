import type { RunFacts } from './guard.ts';

/** One executor for each store: a second one would act on what the first has already acted on. Nothing overrules it. */
export function lease({ leaseLost }: RunFacts): string | undefined {
  return leaseLost;
}
