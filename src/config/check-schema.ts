/** Check of a file against its schema. Every fault has its place. */
import { isSecretKey } from './secret-keys.ts';
import * as z from 'zod/mini';
import { explainIssue } from './explain.ts';
import { allKeys, keysOf, schemaAt } from './schema-walk.ts';
import { ofMeantMember } from './union-issues.ts';
import type { Fault } from './source-text.ts';
import { nearest } from '#foundation/domain/suggest.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

type Issue = z.core.$ZodIssue;

export interface SchemaResult<T> {
  /** Undefined if there are faults. */
  readonly value: T | undefined;
  readonly faults: readonly Fault[];
}

/** Options for a parser that runs once: compiling it only pays off from the second use. */
const ONCE = { jitless: true };

export function checkSchema<T>(schema: z.core.$ZodType<T>, root: Place): SchemaResult<T> {
  let result = z.safeParse(schema, root.value, ONCE);
  let issues = result.success ? [] : ofMeantMember(schema, root.value, result.error.issues);
  if (retype(root, issues)) {
    result = z.safeParse(schema, root.value, ONCE);
    issues = result.success ? [] : ofMeantMember(schema, root.value, result.error.issues);
  }
  if (result.success) return { value: result.data, faults: [] };

  const misspelt = suggestions(schema, root, issues);
  const faults = new Map<string, Fault>();
  for (const issue of issues) {
    for (const fault of faultsOf(issue, { schema, root, misspelt })) {
      // The last of two faults of one kind about one value is the most specific.
      const kind = issue.code === 'custom' ? fault.message : issue.code;
      faults.set(`${fault.start}:${fault.path}:${kind}`, fault);
    }
  }
  return { value: undefined, faults: [...faults.values()] };
}

/**
 * Converts text from variables. If the schema expects a number or a boolean, and the text is exactly one, it is taken
 * as that. Quotes do not matter: a reference inside braces cannot be written without them.
 */
function retype(root: Place, issues: readonly Issue[]): boolean {
  let changed = false;
  for (const issue of issues) {
    const place = placeAt(root, issue.path);
    if (place?.expansion === undefined || place.spoilt) continue;
    const value = asPlain(place.expansion.text);
    const wanted =
      (issue.code === 'invalid_type' && ['number', 'int', 'boolean'].includes(issue.expected)) ||
      (issue.code === 'invalid_value' && issue.values.includes(value));
    const last = issue.path.at(-1);
    const parent = placeAt(root, issue.path.slice(0, -1));
    if (!wanted || value === undefined || last === undefined || parent === undefined) continue;
    (parent.value as Record<PropertyKey, unknown>)[last] = value;
    changed = true;
  }
  return changed;
}

function asPlain(text: string): number | boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Unknown keys with suggestions, by the path of their mapping. */
function suggestions(
  schema: z.core.$ZodType,
  root: Place,
  issues: readonly Issue[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const result = new Map<string, Map<string, string>>();
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const allowed = [...allowedAt(schema, root, issue.path)];
    const near = issue.keys.flatMap((key) => {
      const meant = nearest(key, allowed);
      return meant === undefined ? [] : [[key, meant] as const];
    });
    result.set(pathText(issue.path), new Map(near));
  }
  return result;
}

interface Context {
  readonly schema: z.core.$ZodType;
  readonly root: Place;
  readonly misspelt: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

function faultsOf(issue: Issue, context: Context): Fault[] {
  const { schema, root, misspelt } = context;
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, issue.path, context));

  const place = placeAt(root, issue.path);
  // This fault only follows from one that is already reported.
  if (place?.spoilt) return [];
  const missing = missingKeys(issue, place);
  const holder = issue.code === 'custom' ? issue.path : issue.path.slice(0, -1);
  const meant = [...(misspelt.get(pathText(holder))?.values() ?? [])];
  if (missing.some((key) => meant.includes(key))) return [];
  const at = mark(place ?? nearestAbove(root, holder), missing.length > 0);
  return [
    {
      ...at,
      path: pathText(issue.path),
      ...explainIssue({ issue, schema: schemaAt(schema, issue.path, root.value), place }),
    },
  ];
}

/** Place for a fault about a missing key: the nearest existing parent. */
function nearestAbove(root: Place, path: readonly PropertyKey[]): Place | undefined {
  for (let length = path.length; length > 0; length--) {
    const place = placeAt(root, path.slice(0, length));
    if (place !== undefined) return place;
  }
  return root;
}

/** Keys that are all absent although at least one of them is required. */
function missingKeys(issue: Issue, place: Place | undefined): readonly string[] {
  if (issue.code === 'custom') return (issue.params?.['missing'] as readonly string[] | undefined) ?? [];
  return place === undefined ? [String(issue.path.at(-1))] : [];
}

/**
 * Mark of a fault. A fault about a mapping or a list, or about a missing key in it, is marked at its key. An item of a
 * list has none.
 */
function mark(place: Place | undefined, isMissing: boolean): Pick<Fault, 'start' | 'end' | 'until'> {
  if (place === undefined) return { start: 0, end: 1 };
  const isWhole = isMissing || place.value === null || place.entries !== undefined || place.items !== undefined;
  if (!isWhole) return { start: place.start, end: place.end };
  return { ...(place.key ?? { start: place.start, end: place.start + 1 }), until: place.end };
}

function unknownKey(key: string, path: readonly PropertyKey[], { schema, root, misspelt }: Context): Fault {
  const place = placeAt(root, [...path, key]);
  const meant = misspelt.get(pathText(path))?.get(key);
  const allowed = allowedAt(schema, root, path);
  const elsewhere = [...allKeys(schema)].filter((found) => found.key === key).map((found) => found.path);
  let help: string;
  if (key.includes(':')) help = 'write a space after the colon';
  else if (meant !== undefined) help = `did you mean ${meant}?`;
  else if (isOfAnother(key, path, schema)) help = `not valid here; the keys here are ${allowed.join(', ')}`;
  else if (elsewhere.length > 0) help = `it belongs to ${owners(elsewhere)}; check the indentation`;
  else help = `the keys here are ${allowed.join(', ')}`;
  const fault = { ...(place?.key ?? mark(place, true)), path: pathText([...path, key]), message: 'unknown key', help };
  // A misspelt key beside the keys of secrets may be one of them.
  const isHidden = place !== undefined && allowed.some(isSecretKey);
  return isHidden ? { ...fault, hidden: { start: place.start, end: place.end } } : fault;
}

/** Allowed keys at a path. */
function allowedAt(schema: z.core.$ZodType, root: Place, path: readonly PropertyKey[]): readonly string[] {
  return [...keysOf(schemaAt(schema, path, root.value), placeAt(root, path)?.value).keys()];
}

/** Returns true if another member of a union has the key at this place. */
function isOfAnother(key: string, path: readonly PropertyKey[], schema: z.core.$ZodType): boolean {
  return schemaAt(schema, [...path, key]) !== undefined;
}

function owners(paths: readonly string[]): string {
  const names = paths
    .map((path) => path.slice(0, Math.max(0, path.lastIndexOf('.'))))
    .map((path) => (path === '' ? 'the top level' : path));
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(' or ');
}
