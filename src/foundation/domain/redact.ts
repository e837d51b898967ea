/**
 * Removes credentials from everything that leaves the process: errors, logs, the API, pages, notifications, spans,
 * audit records, metric labels, and command output. Ids, hosts and paths stay.
 */
import { isCredentialName } from './credential-names.ts';
import { credentialSpans, isSpace, MASK, replaced } from './credential-spans.ts';
import { countSecrets } from './known-secrets.ts';

export { MASK } from './credential-spans.ts';

/** Maximum length; longer texts are cut. */
const LONGEST_TEXT = 65_536;
/** Length that is read beyond a cut, so that a credential at the cut is recognized. */
const BEYOND = 512;
/** Minimum length of a text of data that is kept: to find a shorter one costs as much as to redact it. */
const LEAST_KEPT = 512;
/** `@` that ends a user name and password, also encoded once or twice. */
const LOGIN_END = /@|%(?:25)?40/;

/**
 * Returns the text without its credentials. URLs lose their query and fragment.
 *
 * @param most maximum length; a longer text is cut before it is searched, so that its length costs nothing
 */
export function redact(text: string, most = LONGEST_TEXT): string {
  if (text.length > most) return `${redact(startOf(text, most), Infinity).slice(0, most)}…`;
  return replaced(text, credentialSpans(text));
}

/** Texts that rows show again at each request, and their redacted form. */
let kept = { texts: new Map<string, string>(), size: 0, secrets: 0 };
/** Maximum characters of the texts that are kept, with an allowance for each. */
const MOST_KEPT = 16_777_216;
const ALLOWANCE = 100;

/**
 * Returns the same as `redact`. A text that a recent call had costs nothing.
 *
 * @param own copies a text that may be a slice, which would keep its whole source in memory
 */
export function redactKept(text: string, own = (kept: string): string => kept): string {
  // A text may contain a credential that the daemon learned later.
  if (kept.secrets !== countSecrets() || kept.size > MOST_KEPT) {
    kept = { texts: new Map(), size: 0, secrets: countSecrets() };
  }
  const known = kept.texts.get(text);
  if (known !== undefined) return known;
  const found = redact(text);
  kept.texts.set(own(text), found);
  kept.size += text.length + ALLOWANCE;
  return found;
}

/**
 * Returns the start of a text that is to be redacted and then cut at `most` characters. A word that the end would split
 * is left out, since half of a credential is not recognized. A word much longer than `most` stays, unless its other
 * half shows that the first one may be a password.
 */
export function startOf(text: string, most: number): string {
  const end = most + BEYOND;
  if (end >= text.length) return text;
  let word = end;
  while (word > 0 && !isSpace(text.charCodeAt(word - 1))) word--;
  if (word > most) return text.slice(0, word);
  const [rest = ''] = text.slice(end, end + LONGEST_TEXT).split(/\s/, 1);
  return text.slice(0, LOGIN_END.test(rest) ? word : end);
}

/** Returns plain data with all texts redacted. Values of fields with credential names are hidden. */
export function redactData<T>(data: T): T {
  return redactValue(data) as T;
}

function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return value.length < LEAST_KEPT ? redact(value) : redactKept(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON());
  if (Array.isArray(value)) {
    // Header as a pair: name and value.
    const isPair = value.length === 2 && typeof value[0] === 'string' && isCredentialName(value[0]);
    return isPair ? [value[0], hidden(value[1])] : value.map(redactValue);
  }
  const { name, key, header } = value as Readonly<Record<string, unknown>>;
  const isNamed = [name, key, header].some((text) => typeof text === 'string' && isCredentialName(text));
  const fields: [name: string, value: unknown][] = [];
  for (const [field, inner] of Object.entries(value)) {
    // JSON has no undefined fields, and rows have many.
    if (inner === undefined) continue;
    const { shown, isCredential } = fieldOf(field);
    const isHidden = isCredential || (isNamed && /^values?$/i.test(field));
    fields.push([shown, isHidden ? hidden(inner) : redactValue(inner)]);
  }
  return Object.fromEntries(fields);
}

interface Field {
  readonly shown: string;
  readonly isCredential: boolean;
}

/** Cache of field names, which are few. */
const FIELDS = new Map<string, Field>();
const MOST_FIELDS = 1_000;

function fieldOf(name: string): Field {
  const known = FIELDS.get(name);
  if (known !== undefined) return known;
  const field = { shown: redact(name), isCredential: isCredentialName(name) };
  if (FIELDS.size < MOST_FIELDS && name.length <= 100) FIELDS.set(name, field);
  return field;
}

function hidden(value: unknown): unknown {
  return value === null || value === undefined || value === '' || typeof value === 'boolean' ? value : MASK;
}
