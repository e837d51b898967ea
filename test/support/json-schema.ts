/**
 * Validates values against the part of JSON Schema 2020-12 that the OpenAPI document uses. It is stricter than the
 * standard: a field that the schema does not name is a problem, and an unknown keyword an error.
 */
import type { JsonSchema } from '#emulator/openapi/json-schema.ts';

export type Schemas = Readonly<Record<string, JsonSchema>>;

const KEYWORDS = new Set([
  '$ref',
  'title',
  'description',
  'type',
  'format',
  'enum',
  'default',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'items',
  'minItems',
  'properties',
  'required',
  'additionalProperties',
  'anyOf',
]);

/** Returns the problems of a value, one line each; none when it matches the schema. */
export function problems(value: unknown, schema: JsonSchema, schemas: Schemas, at = '$'): readonly string[] {
  const unknown = Object.keys(schema).filter((keyword) => !KEYWORDS.has(keyword));
  if (unknown.length > 0) throw new Error(`this does not know the keywords ${unknown.join(', ')}`);
  if (schema.$ref !== undefined) return problems(value, resolved(schema.$ref, schemas), schemas, at);
  if (schema.anyOf !== undefined) {
    const each = schema.anyOf.map((alternative) => problems(value, alternative, schemas, at));
    return each.some((found) => found.length === 0) ? [] : [`${at} is none of: ${each.map(String).join(' / ')}`];
  }
  if (schema.type !== undefined && !hasType(value, schema.type)) {
    return [`${at} is not of type ${schema.type}: ${JSON.stringify(value)?.slice(0, 80)}`];
  }
  return [...scalarProblems(value, schema, at), ...partProblems(value, schema, schemas, at)];
}

function resolved(ref: string, schemas: Schemas): JsonSchema {
  const schema = schemas[ref.replace('#/components/schemas/', '')];
  if (schema === undefined) throw new Error(`${ref} leads nowhere`);
  return schema;
}

function hasType(value: unknown, type: NonNullable<JsonSchema['type']>): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'string':
    case 'boolean':
      return typeof value === type;
  }
}

const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  let known = patterns.get(pattern);
  if (known === undefined) {
    known = new RegExp(pattern, 'u');
    patterns.set(pattern, known);
  }
  return known;
}

function scalarProblems(value: unknown, schema: JsonSchema, at: string): readonly string[] {
  const found: string[] = [];
  const is = (wrong: string): void => void found.push(`${at} ${wrong}: ${JSON.stringify(value)?.slice(0, 80)}`);
  if (schema.enum !== undefined && !schema.enum.includes(value as string))
    is(`is not one of ${schema.enum.join(', ')}`);
  if (typeof value === 'string') {
    if (schema.pattern !== undefined && !compiled(schema.pattern).test(value)) is(`is not ${schema.pattern}`);
    if (schema.format === 'uri' && !URL.canParse(value)) is('is no URL');
    // Length in characters, as in the standard.
    const length = Array.from(value).length;
    if (length < (schema.minLength ?? 0)) is('is too short');
    if (length > (schema.maxLength ?? Infinity)) is('is too long');
  }
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? -Infinity)) is(`is below ${schema.minimum}`);
    if (value > (schema.maximum ?? Infinity)) is(`is above ${schema.maximum}`);
  }
  return found;
}

function partProblems(value: unknown, schema: JsonSchema, schemas: Schemas, at: string): readonly string[] {
  if (Array.isArray(value)) {
    const short = value.length < (schema.minItems ?? 0) ? [`${at} has too few items`] : [];
    const { items } = schema;
    if (items === undefined) return short;
    return [...short, ...value.flatMap((item, index) => problems(item, items, schemas, `${at}[${index}]`))];
  }
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {}, required = [], additionalProperties } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`);
  const fields = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const part = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    // An object without a description may contain anything.
    if (part === undefined) return schema.properties === undefined ? [] : [`${at}.${name} is not in the schema`];
    return problems(field, part, schemas, `${at}.${name}`);
  });
  return [...missing, ...fields];
}
