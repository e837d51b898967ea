/** What follows from a text and is asked for again and again: found out once, kept for as many texts as told. */
import { ownText } from './own-text.ts';

/** Longer texts are not remembered. */
const LONGEST = 512;

/** @param limit texts that are remembered; past it all are forgotten, which costs time and nothing else */
export function memoByText<T>(limit: number, find: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = find(text);
    if (text.length > LONGEST) return found;
    if (known.size >= limit) known.clear();
    // A slice would keep alive what it was cut from.
    known.set(ownText(text), found);
    return found;
  };
}
