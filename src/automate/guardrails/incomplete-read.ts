import type { Hold } from '#foundation/domain/hold.ts';
import type { ReadFacts } from './guard.ts';

/** Requires all pages without an error. An incomplete listing says nothing about the entries that it lacks. */
export function incompleteRead({ complete, problem }: ReadFacts): Hold | undefined {
  if (complete) return undefined;
  return {
    measured: `the listing is incomplete: ${problem ?? 'unknown reason'}`,
    needed: 'every page must be read',
    remedy: 'check the errors of the account',
  };
}
