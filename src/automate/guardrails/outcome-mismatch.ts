import type { OutcomeFacts } from './guard.ts';

/** Finds a plan whose results do not add up: an action was counted twice or not at all. */
export function outcomeMismatch({ planned, acted, skipped, failed, unknown, left }: OutcomeFacts): string | undefined {
  if (planned === acted + skipped + failed + unknown + left) return undefined;
  const parts = `${acted} acted, ${skipped} skipped, ${failed} failed, ${unknown} unknown and ${left} left`;
  return `${planned} planned, but ${parts}`;
}
