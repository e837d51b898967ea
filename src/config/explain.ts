/** Explanation of a schema fault: the expected value, the actual value, and the fix. */
import * as z from 'zod/mini';
import { redact } from '#foundation/domain/redact.ts';
import { defaultOf, keysOf, unwrap } from './schema-walk.ts';
import { isSecretPath } from './secret-keys.ts';
import { nearest } from '#foundation/domain/suggest.ts';
import type { Place, Words } from './yaml-place.ts';

type Issue = z.core.$ZodIssue;

interface Given {
  readonly issue: Issue;
  /** Schema of the faulty value; undefined if no value is allowed. */
  readonly schema: z.core.$ZodType | undefined;
  readonly place: Place | undefined;
}

/**
 * Explains a fault. Messages of the rooms begin with a lower-case letter: the expectation or fault, and the fix after a
 * semicolon. Messages of the schema library begin with a capital and are replaced.
 */
export function explainIssue(given: Given): Words {
  const { issue, place, schema } = given;
  if (place === undefined && issue.code !== 'custom') {
    const about =
      issue.code === 'invalid_value' && issue.values.length > 1
        ? `one of ${issue.values.map(String).join(', ')}`
        : describe(schema);
    return { message: 'required key is missing', help: about };
  }
  if (place?.value === null) {
    const fallback = shownDefault(schema);
    return {
      message: 'this key has no value',
      help: fallback === undefined ? 'add a value, or remove the key' : `remove the key for the default, ${fallback}`,
    };
  }
  const own = /^[a-z]/.test(issue.message) ? issue.message : undefined;
  const [what, advice] = own?.split('; ') ?? [standard(given)];
  const expects = what?.startsWith('expected ') === true && place !== undefined;
  const message = `${what ?? ''}${expects ? `, got ${got(given)}` : ''}`;
  const help = advice ?? (place === undefined ? undefined : repair(given, message));
  return { message, help };
}

/** Standard message, if the room that owns the setting has none. */
function standard({ issue }: Given): string {
  if (issue.code === 'invalid_type') return `expected ${KINDS[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') {
    return `expected ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
  }
  if (issue.code === 'invalid_key') return (issue.issues[0]?.message ?? '').replace(/^expected/, 'this key must be');
  if (issue.code === 'too_small') {
    if (issue.origin === 'array') return 'needs at least one item';
    if (issue.origin === 'string') return 'must not be empty';
    return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
  }
  if (issue.code === 'too_big') return `must ${issue.origin === 'array' ? 'have' : 'be'} at most ${issue.maximum}`;
  return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of keys',
  record: 'a mapping of keys',
};

/** Kind of the actual value, and the value itself unless it may be a secret. */
function got(given: Given): string {
  const { place } = given;
  const value = place?.value;
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping of keys';
  const shown = showable(given);
  if (place?.expansion !== undefined) return 'other text from the environment';
  if (shown === undefined) return typeof value === 'string' ? 'other text' : `a ${typeof value}`;
  if (typeof value !== 'string') return `${typeof value} ${shown}`;
  if (value === '') return 'empty text';
  if (value.length > 2_000) return 'a very long text';
  const harmless = redact(shown);
  return `text ${JSON.stringify(harmless.length > 60 ? `${harmless.slice(0, 60)}…` : harmless)}`;
}

/** Single value as text; undefined if it may be a secret. */
function showable({ issue, place }: Given): string | undefined {
  const value = place?.value;
  if (isSecretPath(issue.path) || place?.expansion !== undefined) return undefined;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? (place?.scalar?.source ?? String(value)) : undefined;
}

function repair(given: Given, message: string): string | undefined {
  const { issue, place, schema } = given;
  const value = place?.value;
  const shown = showable(given);
  if (value === 0 && issue.code === 'too_small') {
    const fallback = shownDefault(schema);
    return `zero never means unlimited${fallback === undefined ? '' : `; the default is ${fallback}`}`;
  }
  if (message.startsWith('expected a duration')) return shown === undefined ? undefined : durationFor(value);
  if (issue.code === 'invalid_value') {
    const near = shown === undefined ? undefined : nearest(shown, issue.values.map(String));
    return near === undefined ? undefined : `did you mean ${near}?`;
  }
  // A room's own message says more than that the value must be text.
  if (issue.code !== 'invalid_type' || (issue.expected === 'string' && !message.startsWith('expected text')))
    return undefined;
  return REPAIRS[issue.expected]?.({ value, shown, schema });
}

interface Wrong {
  readonly value: unknown;
  readonly shown: string | undefined;
  readonly schema: z.core.$ZodType | undefined;
}

/** Fixes, by the expected type. */
const REPAIRS: Readonly<Record<string, (wrong: Wrong) => string | undefined>> = {
  string: ({ value, shown }) => {
    if (typeof value === 'object') return undefined;
    return shown === undefined ? 'put it in quotes' : `put it in quotes: "${shown}"`;
  },
  boolean: ({ shown }) => booleanFor(shown ?? ''),
  number: ({ value, shown }) => {
    const isNumber = typeof value === 'string' && shown?.trim() !== '' && Number.isFinite(Number(shown));
    return isNumber ? `write ${Number(shown)} without quotes` : undefined;
  },
  array: ({ value, shown }) => {
    if (typeof value === 'object') return 'start each item with a hyphen';
    return shown === undefined ? 'put it in brackets' : `write [${shown}]`;
  },
  object: ({ schema }) => `write its keys below it: ${[...keysOf(schema).keys()].join(', ')}`,
};

/** Fix for `30`, `30 s` and `30sec`: `30s`. */
function durationFor(value: unknown): string | undefined {
  if (typeof value === 'number') return value > 0 ? `write ${value}s` : undefined;
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(typeof value === 'string' ? value.trim() : '');
  const unit = UNITS.find(([names]) => names.test(parts?.[2] ?? ''))?.[1];
  return parts === null || unit === undefined ? undefined : `write ${parts[1]}${unit}`;
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/i, 'ms'],
  [/^(?:|s|secs?|seconds?)$/i, 's'],
  [/^(?:m|mins?|minutes?)$/i, 'm'],
  [/^(?:h|hrs?|hours?)$/i, 'h'],
  [/^(?:d|days?)$/i, 'd'],
];

function booleanFor(value: string): string | undefined {
  if (/^(?:true|yes|on|y|1)$/i.test(value)) return 'write true';
  return /^(?:false|no|off|n|0)$/i.test(value) ? 'write false' : undefined;
}

/** Default as it would be written; undefined for mappings, whose keys have their own. */
function shownDefault(schema: z.core.$ZodType | undefined): string | undefined {
  const value = schema === undefined ? undefined : defaultOf(schema);
  if (Array.isArray(value)) return JSON.stringify(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

function describe(schema: z.core.$ZodType | undefined): string | undefined {
  if (schema === undefined) return undefined;
  return [schema, unwrap(schema)].map((one) => z.globalRegistry.get(one)?.description).find(Boolean);
}
