/** Caches a function of a text, up to a given number of texts. */

/** Maximum length of a cached text. */
const LONGEST = 512;

/** @param limit maximum number of cached texts; above it the cache is cleared, which only costs time */
export function memoByText<T>(limit: number, find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = find(text);
    if (text.length > LONGEST) return found;
    if (known.size >= limit) known.clear();
    // A slice would keep its whole source text in memory.
    known.set(ownText(text), found);
    return found;
  };
}

/**
 * Returns a copy of the text in its own memory. V8 keeps the source text of a slice in memory. Use this for a slice
 * that lives longer than its source.
 */
export function ownText(slice: string): string {
  return Buffer.from(slice, 'utf8').toString('utf8');
}
