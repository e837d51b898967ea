/** Caches a function of a text, up to a given number of texts. */
import { ownText } from './own-text.ts';

/**
 * @param limit maximum number of cached texts; above it the cache is cleared, which only costs time
 * @param longest maximum length of a cached text
 */
export function memoByText<T>(limit: number, find: (text: string) => T, longest = 512): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = find(text);
    if (text.length > longest) return found;
    if (known.size >= limit) known.clear();
    // A slice would keep its whole source text in memory.
    known.set(ownText(text), found);
    return found;
  };
}
