import type { ReadFacts } from './guard.ts';

/** Requires all pages without an error. An incomplete listing says nothing about the entries that it lacks. */
export function incompleteRead({ complete, problem }: ReadFacts): string | undefined {
  return complete ? undefined : `the listing is incomplete: ${problem ?? 'unknown reason'}`;
}
