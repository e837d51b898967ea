const TOLERATED = 0.05;

/**
 * Aborts a run whose expression fails on many entries: it was not written for them, so its other matches mean little.
 */
export function where({ entries, errors }: { readonly entries: number; readonly errors: number }): string | undefined {
  if (errors <= entries * TOLERATED) return undefined;
  return `the expression failed on ${errors} of ${entries} entries`;
}
