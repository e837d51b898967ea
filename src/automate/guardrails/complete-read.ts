import type { ReadFacts } from './guard.ts';

/** All pages, the cursor ended, no error: else the listing says nothing about what is not in it. */
export function completeRead({ complete, problem }: ReadFacts): string | undefined {
  return complete ? undefined : `the listing is not complete: ${problem ?? 'unknown reason'}`;
}
