/**
 * Bounds on external JSON, checked on its bytes before a parser builds objects. Nested lists take more than 200 times
 * their bytes.
 *
 * The scan and the parser agree on the extent of texts up to the first syntax error, where the parser stops.
 */

export interface JsonBounds {
  /** Maximum nesting of objects and lists. */
  readonly depth: number;
  /** Maximum number of objects, lists, and their members after the first. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = Buffer.from('"\\,[{') as unknown as readonly [
  number,
  number,
  number,
  number,
  number,
];
/** Distance of a closing character from its opening character, for both kinds. */
const CLOSING = 2;
/** Maximum length of a text that is scanned byte by byte. For longer ones, the native search pays for its start. */
const SHORT_TEXT = 48;

/** Describes the bound that the JSON exceeds; undefined if it exceeds none. */
export function exceededJsonBound(json: Buffer, bounds: JsonBounds): string | undefined {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfText(json, at + 1);
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === BRACE || byte === BRACKET) {
      values += 1;
      depth += 1;
      if (depth > bounds.depth) return `it has more than ${bounds.depth} levels`;
    } else if (byte === BRACE + CLOSING || byte === BRACKET + CLOSING) {
      depth -= 1;
    }
    if (values > bounds.values) return `it has more than ${bounds.values} values`;
  }
  return undefined;
}

/** Returns the position of the quote that ends the text, or the length of a truncated text. */
export function endOfText(json: Buffer, start: number, short = SHORT_TEXT): number {
  const soon = Math.min(json.length, start + short);
  let at = start;
  for (; at < soon; at += 1) {
    if (json[at] === QUOTE) return at;
    if (json[at] === BACKSLASH) at += 1;
  }
  // A text with one escaped quote usually has many. Only texts without them are worth a search.
  const quote = json.indexOf(QUOTE, at);
  if (quote === -1) return json.length;
  if (json[quote - 1] !== BACKSLASH || quote === at) return quote;
  for (; at < json.length; at += 1) {
    if (json[at] === QUOTE) return at;
    if (json[at] === BACKSLASH) at += 1;
  }
  return at;
}
