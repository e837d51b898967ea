/** Finds repeated texts in a large list. */

/**
 * Returns the texts that several items have. A set of all texts would be megabytes of garbage for each listing, so most
 * texts are only hashed.
 */
export function repeated<T>(items: readonly T[], textOf: (item: T) => string): ReadonlySet<string> {
  const hashes = new Uint32Array(items.length);
  for (const [index, item] of items.entries()) hashes[index] = hashOf(textOf(item));
  const sorted = hashes.toSorted();
  const shared = new Set(sorted.filter((hash, index) => index > 0 && hash === sorted[index - 1]));
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const [index, item] of shared.size === 0 ? [] : items.entries()) {
    if (!shared.has(hashes[index]!)) continue;
    const text = textOf(item);
    if (seen.has(text)) found.add(text);
    seen.add(text);
  }
  return found;
}

/** FNV-1a over the code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
