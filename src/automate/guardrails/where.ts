import type { Hold } from '#foundation/domain/hold.ts';

const TOLERATED = 0.05;

/**
 * Aborts a run whose expression fails on many entries: it was not written for them, so its other matches mean little.
 */
export function where({ entries, errors }: { readonly entries: number; readonly errors: number }): Hold | undefined {
  if (errors <= entries * TOLERATED) return undefined;
  return {
    measured: `the expression failed on ${errors} of ${entries} entries`,
    needed: 'at most 5 % is tolerated',
    remedy: 'test optional fields with `has()`',
  };
}
