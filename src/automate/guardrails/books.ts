import type { BooksFacts } from './guard.ts';

/** An act that is not accounted for was done twice, or by nobody. */
export function books({ planned, acted, skipped, failed, unknown, left }: BooksFacts): string | undefined {
  if (planned === acted + skipped + failed + unknown + left) return undefined;
  const parts = `${acted} acted, ${skipped} skipped, ${failed} failed, ${unknown} unknown and ${left} left`;
  return `${planned} planned are not ${parts}`;
}
