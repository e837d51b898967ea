/** Questions to the schema that the parser does not answer: which keys may stand somewhere, and where a key belongs. */
import type { z } from 'zod';

type Schema = z.core.$ZodType;

/** The part of a schema that may hold keys, items or a value: wrappers such as defaults are looked through. */
export function unwrap(schema: Schema): Schema {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  if (def.type === 'pipe') return unwrap(def.in);
  return 'innerType' in def ? unwrap(def.innerType) : schema;
}

/** The schema at a path such as `['accounts', 0, 'token']`; undefined where the schema allows nothing. */
export function schemaAt(root: Schema, path: readonly PropertyKey[]): Schema | undefined {
  let schema: Schema | undefined = root;
  for (const part of path) {
    if (schema === undefined) return undefined;
    const def: z.core.$ZodTypes['_zod']['def'] = (unwrap(schema) as z.core.$ZodTypes)._zod.def;
    if (def.type === 'object') schema = def.shape[String(part)];
    else if (def.type === 'array') schema = def.element;
    else if (def.type === 'record') schema = def.valueType;
    else schema = undefined;
  }
  return schema;
}

/** Keys that may stand in a mapping, with their schemas; empty for anything else. */
export function keysOf(schema: Schema | undefined): ReadonlyMap<string, Schema> {
  if (schema === undefined) return new Map();
  const def = (unwrap(schema) as z.core.$ZodTypes)._zod.def;
  return new Map(def.type === 'object' ? Object.entries(def.shape) : []);
}

export interface SchemaKey {
  /** `accounts[].client.timeout`; `*` stands for a key of the user's own: `hooks.callbacks.*.token` */
  readonly path: string;
  readonly key: string;
  readonly schema: Schema;
}

/** Every key of a schema, in order, the keys inside of a key after it. */
export function* allKeys(root: Schema, prefix = ''): Generator<SchemaKey> {
  const schema = unwrap(root);
  const def = (schema as z.core.$ZodTypes)._zod.def;
  if (def.type === 'array') yield* allKeys(def.element, `${prefix}[]`);
  if (def.type === 'record') yield* allKeys(def.valueType, `${prefix}.*`);
  for (const [key, inner] of keysOf(schema)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    yield { path, key, schema: inner };
    yield* allKeys(inner, path);
  }
}

/** What a key is when it is left out, as it would be written; undefined when it has no default. */
export function defaultOf(schema: Schema): unknown {
  const def = (schema as z.core.$ZodTypes)._zod.def;
  return def.type === 'default' || def.type === 'prefault' ? def.defaultValue : undefined;
}
