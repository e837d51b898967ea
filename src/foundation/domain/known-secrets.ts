/**
 * Credentials that this process knows, and their places in a text. A service may echo any of them in any field, also the
 * one of another account, and encoded. They are remembered where a `Secret` is made or read.
 *
 * A credential of fewer than 8 characters, or of fewer than 12 that are all alphabetic, is not searched for: ordinary
 * texts would lose words. The name or the scheme before it still hides it.
 */
interface Place {
  readonly start: number;
  readonly end: number;
}

interface Needle {
  readonly text: string;
  /** True if the characters around it belong to the same encoded credential. */
  readonly isEncoded: boolean;
}

const WORD = /^[a-z]{0,11}$/i;
const SHORTEST = 8;
const LONGEST = 4_096;
const MOST = 4_096;
/** Characters of a base64 text. */
const BASE64 = /[\w+/=-]/;

/** Needles by their first characters at each of four offsets, since a text is searched at every fourth character. */
const STEP = 4;
const byPart = new Map<string, { readonly needle: Needle; readonly offset: number }[]>();
/** Bits of the hashes of these characters. Nearly every part of a text fails this test. */
const filter = new Uint8Array(65_536);
const known = new Set<string>();

/** Remembers a credential in plain form, in JSON, and in base64. Percent encoding is decoded before the search. */
export function rememberSecret(secret: string): void {
  // The form of a private key reveals it.
  if (known.has(secret) || known.size >= MOST || secret.startsWith('-----BEGIN')) return;
  // `Bearer TOKEN`, and a file with one token on each line, which can be long.
  if (/\s/.test(secret)) for (const part of secret.split(/\s+/)) rememberSecret(part);
  if (secret.length > LONGEST) return;
  known.add(secret);
  const password = URL.parse(secret)?.password ?? '';
  if (password !== '') for (const text of [password, unescaped(password)]) rememberSecret(text);
  if (!isTelling(secret)) return;
  const inJson = JSON.stringify(secret).slice(1, -1);
  const twiceInJson = JSON.stringify(inJson).slice(1, -1);
  for (const text of [secret, inJson, twiceInJson, encodeURIComponent(secret.toWellFormed())])
    add({ text, isEncoded: false });
  for (const text of encodings(secret)) add({ text, isEncoded: true });
}

/** Remembers the values of headers of requests, which may be credentials under any name. */
export function rememberSecrets<T extends Readonly<Record<string, string>>>(headers: T): T {
  for (const value of Object.values(headers)) rememberSecret(value);
  return headers;
}

/** Returns how many credentials are known, for caches of masked texts. */
export function countSecrets(): number {
  return known.size;
}

/** Returns a text without percent encoding, or as it is if its encoding is invalid. */
export function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isTelling(text: string): boolean {
  return text.length >= SHORTEST && !WORD.test(text);
}

/**
 * Returns the characters of base64 that only the secret determines, for each of the three places at which it can begin:
 * `user:password` contains the password at any of them.
 */
function encodings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const inner = whole.toString('base64').slice([0, 2, 3][before], Math.floor((whole.length * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function add(needle: Needle): void {
  const { text } = needle;
  if (!isTelling(text)) return;
  for (let offset = 0; offset < STEP; offset++) {
    const part = text.slice(offset, offset + STEP);
    const needles = byPart.get(part) ?? [];
    if (needles.some((one) => one.needle.text === text && one.offset === offset)) continue;
    byPart.set(part, [...needles, { needle, offset }]);
    filter[hashAt(part, 0)] = 1;
  }
}

function hashAt(text: string, at: number): number {
  const first = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1);
  const second = text.charCodeAt(at + 2) * 31 + text.charCodeAt(at + 3);
  return (first * 257 + second) & 0xffff;
}

/** Returns the places of known credentials. Those of one position may overlap. */
export function knownSecrets(text: string): readonly Place[] {
  if (byPart.size === 0) return [];
  const places: Place[] = [];
  let from = 0;
  for (let at = 0; at + STEP <= text.length; at += STEP) {
    if (filter[hashAt(text, at)] === 0) continue;
    for (const { needle, offset } of byPart.get(text.slice(at, at + STEP)) ?? []) {
      const start = at - offset;
      if (start >= from && text.startsWith(needle.text, start)) places.push(placeOf(text, start, from, needle));
    }
    from = places.at(-1)?.end ?? 0;
  }
  return places;
}

function placeOf(text: string, found: number, from: number, needle: Needle): Place {
  let [start, end] = [found, found + needle.text.length];
  if (!needle.isEncoded) return { start, end };
  while (start > from && BASE64.test(text[start - 1]!)) start--;
  while (end < text.length && BASE64.test(text[end]!)) end++;
  return { start, end };
}
