import type { Hold } from '#foundation/domain/hold.ts';
import type { OutcomeFacts } from './guard.ts';

/** Finds a plan whose results do not add up: an action was counted twice or not at all. */
export function outcomeMismatch({ planned, acted, skipped, failed, unknown, left }: OutcomeFacts): Hold | undefined {
  if (planned === acted + skipped + failed + unknown + left) return undefined;
  return {
    measured: `${acted} acted, ${skipped} skipped, ${failed} failed, ${unknown} unknown and ${left} left`,
    needed: `the sum must be the ${planned} planned`,
    remedy: 'report it with the records of the run',
  };
}
