/**
 * Takes the bodies of messages and of their answers out of a page before it is parsed: they are most of its bytes, and
 * nobody reads them. What is left parses to the same, with empty texts in their place.
 *
 * No grammar is needed to find them. A quote with no backslash before it begins or ends a text, and after one that ends
 * a text comes no letter: so `"body":"` with no backslash before it is a key and the beginning of its text, wherever it
 * stands. Nothing outside of such texts is touched, so what is not JSON, or is cut off, stays so. What stands inside is
 * not looked at: a wrong escape there costs no page.
 */

const KEYS = ['"body"', '"responseBody"'].map((key) => Buffer.from(key));
/** How each of them ends: one search finds both. */
const KEYS_END = Buffer.from('ody":');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Shorter ones are not worth a move. */
const WORTH_BYTES = 64;

/** @returns the page in the memory of `page`, whose bytes are moved */
export function withoutBodies(page: Buffer): Buffer {
  let kept = 0;
  let from = 0;
  for (let at = page.indexOf(KEYS_END); at !== -1; at = page.indexOf(KEYS_END, at)) {
    at += KEYS_END.length;
    if (!endsKey(page, at - 1)) continue;
    while (page[at] === SPACE) at += 1;
    if (page[at] !== QUOTE) continue;
    const start = at + 1;
    const end = endOfText(page, start);
    if (end === -1) break;
    at = end;
    if (end - start < WORTH_BYTES) continue;
    page.copyWithin(kept, from, start);
    kept += start - from;
    from = end;
  }
  page.copyWithin(kept, from);
  return page.subarray(0, kept + page.length - from);
}

/** Whether one of the keys, quotes included, stands right before `end`. */
function endsKey(page: Buffer, end: number): boolean {
  for (const key of KEYS) {
    const start = end - key.length;
    let same = 0;
    while (same < key.length && page[start + same] === key[same]) same += 1;
    if (same === key.length) return page[start - 1] !== BACKSLASH;
  }
  return false;
}

/** Where the quote is that ends the text; -1 when it is cut off. */
function endOfText(page: Buffer, start: number): number {
  const quote = page.indexOf(QUOTE, start);
  if (quote === -1 || page[quote - 1] !== BACKSLASH) return quote;
  // It has escapes: byte by byte, since where one quote is escaped most are.
  for (let at = start; at < page.length; at += 1) {
    if (page[at] === QUOTE) return at;
    if (page[at] === BACKSLASH) at += 1;
  }
  return -1;
}
