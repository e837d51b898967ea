/** Queries on the schema that the parser does not offer: the allowed keys at a place, and the places of a key. */
import type * as z from 'zod/mini';
import { nearest } from '#foundation/domain/suggest.ts';
import { discriminators } from '#foundation/settings/blocks.ts';

type Schema = z.core.$ZodType;

/** Part of a schema that may have keys, items or a value, without wrappers such as defaults. */
export function unwrap(schema: Schema): Schema {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  if (def.type === 'pipe') return unwrap(def.in);
  if (def.type === 'lazy') return unwrap((schema as z.core.$ZodLazy)._zod.innerType);
  return 'innerType' in def ? unwrap(def.innerType) : schema;
}

/**
 * Schema at a path such as `['accounts', 0, 'token']`; undefined if the schema allows nothing there. In a union, it is
 * that of the member that `value` is meant to be, or of the first one with the key.
 *
 * @param value value at the root, if known
 */
export function schemaAt(root: Schema, path: readonly PropertyKey[], value?: unknown): Schema | undefined {
  let schemas: readonly Schema[] = [root];
  let here = value;
  for (const part of path) {
    schemas = schemas
      .flatMap((schema) => membersOf(schema, here))
      .flatMap((schema) => {
        const def = (schema as z.core.$ZodTypes)._zod.def;
        if (def.type === 'object') return def.shape[String(part)] ?? [];
        if (def.type === 'array') return [def.element];
        return def.type === 'record' ? [def.valueType] : [];
      });
    here = within(here, part);
  }
  return schemas[0];
}

function within(value: unknown, part: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined;
}

/** Members of a union that `value` may be meant to be, or all of them if unknown; any other schema alone. */
export function membersOf(schema: Schema, value: unknown): readonly Schema[] {
  const plain = unwrap(schema);
  const def = (plain as z.core.$ZodTypes)._zod.def;
  if (def.type !== 'union') return [plain];
  const options = def.options.flatMap((option) => membersOf(option, value));
  for (const path of discriminatorsOf(plain)) {
    const given = path.reduce(within, value);
    const fitting = options.filter((option) => literalAt(option, path) === given);
    if (given !== undefined && fitting.length > 0) return fitting;
    const meant = typeof given === 'string' ? nearest(given, literalsAt(options, path)) : undefined;
    if (meant !== undefined) return options.filter((option) => literalAt(option, path) === meant);
  }
  return options;
}

/** Paths of the literals that distinguish the members of a union, in order. */
export function discriminatorsOf(union: Schema): readonly (readonly string[])[] {
  return discriminators.get(union)?.paths ?? [];
}

/** Texts that distinguish the members of a union at a path. */
export function literalsAt(members: readonly Schema[], path: readonly string[]): readonly string[] {
  const literals = members.map((member) => literalAt(member, path));
  return [...new Set(literals.filter((literal): literal is string => typeof literal === 'string'))];
}

/** Only value that a member allows at a path. */
function literalAt(member: Schema, path: readonly string[]): unknown {
  const schema = schemaAt(member, path);
  const def = schema && (unwrap(schema) as z.core.$ZodTypes)._zod.def;
  return def?.type === 'literal' ? def.values[0] : undefined;
}

/** Allowed keys of a mapping, with their schemas; empty for other types. For a union, the keys of all members. */
export function keysOf(schema: Schema | undefined, value?: unknown): ReadonlyMap<string, Schema> {
  const keys = new Map<string, Schema>();
  for (const member of schema === undefined ? [] : membersOf(schema, value)) {
    const def = (member as z.core.$ZodTypes)._zod.def;
    for (const [key, inner] of def.type === 'object' ? Object.entries(def.shape) : []) {
      if (!keys.has(key)) keys.set(key, inner);
    }
  }
  return keys;
}

export interface SchemaKey {
  /** `accounts[].client.timeout`; `*` is a key chosen by the user: `hooks.callbacks.*.token` */
  readonly path: string;
  readonly key: string;
  readonly schema: Schema;
}

/** Every key of a schema in order, followed by its inner keys. Keys shared by members of a union come once. */
export function* allKeys(root: Schema, prefix = ''): Generator<SchemaKey> {
  const members = membersOf(root, undefined);
  const seen = new Set<string>();
  for (const member of members) {
    for (const key of keysBelow(member, prefix)) {
      if (members.length > 1 && seen.has(key.path)) continue;
      seen.add(key.path);
      yield key;
    }
  }
}

function* keysBelow(schema: Schema, prefix: string): Generator<SchemaKey> {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  if (def.type === 'array') yield* allKeys(def.element, `${prefix}[]`);
  if (def.type === 'record') yield* allKeys(def.valueType, `${prefix}.*`);
  for (const [key, inner] of keysOf(schema)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    yield { path, key, schema: inner };
    yield* allKeys(inner, path);
  }
}

/** Default of a key as it would be written; undefined without a default. */
export function defaultOf(schema: Schema): unknown {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  return def.type === 'default' || def.type === 'prefault' ? def.defaultValue : undefined;
}
