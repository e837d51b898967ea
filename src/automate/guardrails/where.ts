const TOLERATED = 0.05;

/** An expression that fails on many entries was not written for them: what it chose of the rest means little. */
export function where({ entries, errors }: { readonly entries: number; readonly errors: number }): string | undefined {
  if (errors <= entries * TOLERATED) return undefined;
  return `the expression failed on ${errors} of ${entries} entries`;
}
