/** Lets values be null, which removes a key of the defaults or of another file of values. */
import type { Schema } from './kubernetes-schema.ts';

/** Returns the schema with null allowed for each key that is not required. */
export function nullable(schema: Schema): Schema {
  const required = (schema['required'] ?? []) as readonly string[];
  const entries = Object.entries(schema).map(([keyword, inner]): [string, unknown] => {
    if (keyword === 'properties') return [keyword, mapped(inner, (key, one) => optional(one, required.includes(key)))];
    if (keyword === 'definitions') return [keyword, mapped(inner, (_name, one) => nullable(one))];
    if (keyword === 'additionalProperties' && isSchema(inner)) return [keyword, optional(inner, false)];
    if (Array.isArray(inner)) return [keyword, inner.map((one: unknown) => (isSchema(one) ? nullable(one) : one))];
    return [keyword, isSchema(inner) ? nullable(inner) : inner];
  });
  return Object.fromEntries(entries);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapped(schemas: unknown, change: (key: string, schema: Schema) => Schema): Readonly<Record<string, Schema>> {
  const entries = Object.entries(schemas as Readonly<Record<string, Schema>>);
  return Object.fromEntries(entries.map(([key, schema]) => [key, change(key, schema)]));
}

function optional(schema: Schema, isRequired: boolean): Schema {
  const inner = nullable(schema);
  if (isRequired || Object.keys(inner).length === 0) return inner;
  const { type, enum: values, const: value } = inner;
  if (type !== undefined && values === undefined && value === undefined)
    return { ...inner, type: [type, 'null'].flat() };
  // Not `anyOf`: its errors would list "want null" next to the real problem.
  return { if: { type: 'null' }, else: inner };
}
