/** Reads the few headers of a stored message that the daemon uses. All others may be secret and are ignored. */
import type { WireNames } from '../wire-names.ts';

export interface StoredHeaders {
  traceparent?: string;
  flowControlKey?: string;
  workflowRunId?: string;
  delay?: string;
  notBefore?: string;
}

const FIELDS = [
  'traceparent',
  'flowControlKey',
  'workflowRunId',
  'delay',
  'notBefore',
] as const satisfies readonly (keyof StoredHeaders)[];

/** Meaning of a header name: its field, if any, and if the message forwards it. */
interface Meaning {
  readonly field: keyof StoredHeaders | undefined;
  /** Bit of the field; 0 if there is none. */
  readonly bit: number;
  readonly isForwarded: boolean;
}

/** Limits of the cache of names. Header names are few and short, and appear in every row. */
const REMEMBERED = 1_000;
const LONGEST_NAME = 256;
/** Maximum length of a value. Longer values are ignored. */
const LONGEST_VALUE = 1_024;
const NONE: Meaning = { field: undefined, bit: 0, isForwarded: false };
const meanings = new WeakMap<WireNames, Map<string, Meaning>>();

/**
 * Finds headers regardless of case, with or without the forward prefix. A forwarded header takes precedence, because it
 * is the producer's. Values are texts or lists of texts. Redacted values are ignored.
 */
export function storedHeaders(header: unknown, names: WireNames): StoredHeaders {
  const found: StoredHeaders = {};
  if (typeof header !== 'object' || header === null) return found;
  // Bits instead of a set, because an entry has only one or two such headers.
  let forwarded = 0;
  for (const key in header) {
    const { field, bit, isForwarded } = meaningOf(key, names);
    if (field === undefined || (!isForwarded && (forwarded & bit) !== 0)) continue;
    const value: unknown = (header as Record<string, unknown>)[key];
    const text: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof text !== 'string' || text === '' || text.startsWith('REDACTED:')) continue;
    if (text.length > LONGEST_VALUE) continue;
    found[field] = text;
    if (isForwarded) forwarded |= bit;
  }
  return found;
}

/** Returns true if the daemon uses the header. */
export function isStoredHeader(key: string, names: WireNames): boolean {
  return meaningOf(key, names).field !== undefined;
}

function meaningOf(key: string, names: WireNames): Meaning {
  if (key.length > LONGEST_NAME) return NONE;
  let known = meanings.get(names);
  if (known === undefined) meanings.set(names, (known = new Map()));
  let meaning = known.get(key);
  if (meaning !== undefined) return meaning;
  meaning = newMeaning(key, names);
  if (known.size >= REMEMBERED) known.clear();
  known.set(key, meaning);
  return meaning;
}

function newMeaning(key: string, names: WireNames): Meaning {
  const { forwardPrefix } = names.stored;
  const lower = key.toLowerCase();
  const isForwarded = lower.startsWith(forwardPrefix);
  const field = fieldOf(isForwarded ? lower.slice(forwardPrefix.length) : lower, names);
  return { field, bit: field === undefined ? 0 : 1 << FIELDS.indexOf(field), isForwarded };
}

function fieldOf(name: string, { stored }: WireNames): keyof StoredHeaders | undefined {
  return FIELDS.find((field) => name === (field === 'traceparent' ? field : stored[field]));
}
