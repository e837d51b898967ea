/**
 * Removes the bodies of messages and responses from a page before it is parsed. They are most of its bytes, and the
 * daemon does not use them. The rest parses to the same values, with empty texts in their place.
 *
 * Finding them requires no grammar. A quote without a preceding backslash starts or ends a text, and no letter follows
 * a quote that ends a text. So `"body":"` without a preceding backslash is always a key and the start of its text.
 * Nothing outside of such texts is changed, so invalid or truncated JSON stays invalid. The content of the texts is not
 * checked: a wrong escape in it does not invalidate the page.
 */

const KEYS = ['"body"', '"responseBody"'].map((key) => Buffer.from(key));
/** Common ending of the keys, so that one search finds both. */
const KEYS_END = Buffer.from('ody":');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Minimum size of a body that is removed. Moving bytes for a smaller one does not pay. */
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

/** Returns true if one of the keys, including its quotes, ends right at `end`. */
function endsKey(page: Buffer, end: number): boolean {
  for (const key of KEYS) {
    const start = end - key.length;
    let same = 0;
    while (same < key.length && page[start + same] === key[same]) same += 1;
    if (same === key.length) return page[start - 1] !== BACKSLASH;
  }
  return false;
}

/** Returns the position of the quote that ends the text; -1 if it is truncated. */
function endOfText(page: Buffer, start: number): number {
  const quote = page.indexOf(QUOTE, start);
  if (quote === -1 || page[quote - 1] !== BACKSLASH) return quote;
  // The text has escapes. It is scanned byte by byte, because a text with one escaped quote usually has many.
  for (let at = start; at < page.length; at += 1) {
    if (page[at] === QUOTE) return at;
    if (page[at] === BACKSLASH) at += 1;
  }
  return -1;
}
