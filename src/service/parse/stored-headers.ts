/** The few headers of a stored message that the daemon looks at; all others, which may be secret, stay behind. */
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

/** What a header name means: which field it is, if any, and whether the message forwards it. */
interface Meaning {
  readonly field: keyof StoredHeaders | undefined;
  /** The field as a bit; 0 when it is none. */
  readonly bit: number;
  readonly isForwarded: boolean;
}

/** Header names are few, short, and come with every row. */
const REMEMBERED = 1_000;
const LONGEST_NAME = 256;
/** Longer values are no values. */
const LONGEST_VALUE = 1_024;
const meanings = new WeakMap<WireNames, Map<string, Meaning>>();

/**
 * Looks without case, with or without the forward prefix (a forwarded one wins: it is the producer's), at values that
 * are text or lists of it. Redacted values are no values.
 */
export function storedHeaders(header: unknown, names: WireNames): StoredHeaders {
  const found: StoredHeaders = {};
  if (typeof header !== 'object' || header === null) return found;
  let known = meanings.get(names);
  if (known === undefined) meanings.set(names, (known = new Map()));
  // Bits of the fields, and no set: an entry has one such header or two.
  let forwarded = 0;
  for (const key in header) {
    if (key.length > LONGEST_NAME) continue;
    let meaning = known.get(key);
    if (meaning === undefined) {
      meaning = meaningOf(key, names);
      if (known.size >= REMEMBERED) known.clear();
      known.set(key, meaning);
    }
    const { field, bit, isForwarded } = meaning;
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

function meaningOf(key: string, names: WireNames): Meaning {
  const { forwardPrefix } = names.stored;
  const lower = key.toLowerCase();
  const isForwarded = lower.startsWith(forwardPrefix);
  const field = fieldOf(isForwarded ? lower.slice(forwardPrefix.length) : lower, names);
  return { field, bit: field === undefined ? 0 : 1 << FIELDS.indexOf(field), isForwarded };
}

function fieldOf(name: string, { stored }: WireNames): keyof StoredHeaders | undefined {
  return FIELDS.find((field) => name === (field === 'traceparent' ? field : stored[field]));
}
