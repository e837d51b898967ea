/**
 * Returns a copy of the text in its own memory. V8 keeps the source text of a slice in memory. Use this for a slice
 * that lives longer than its source.
 */
export function ownText(slice: string): string {
  return Buffer.from(slice, 'utf8').toString('utf8');
}
