/**
 * Returns the text in memory of its own. V8 keeps the whole text alive from which a slice was cut; use this for a slice
 * that is kept longer than its text.
 */
export function ownText(slice: string): string {
  return Buffer.from(slice, 'utf8').toString('utf8');
}
