/**
 * The part of JSON Schema 2020-12 that the document uses. Schemas of objects are bound to the types of the views: the
 * compiler requires every field, and the mark of the optional ones.
 */

type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null';

export interface JsonSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: TypeName | readonly TypeName[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

interface Optional {
  readonly optional: JsonSchema;
}

/** Fields of a type. Optional fields of the type need `opt`. */
type Fields<T> = { readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? Optional : JsonSchema };

export const opt = (schema: JsonSchema): Optional => ({ optional: schema });

export function objectOf<T>(fields: Fields<T>, description?: string): JsonSchema {
  const entries = Object.entries<JsonSchema | Optional>(fields);
  const required = entries.filter(([, field]) => !('optional' in field)).map(([name]) => name);
  return {
    type: 'object',
    ...said(description),
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, 'optional' in field ? field.optional : field]),
    ),
    ...(required.length > 0 && { required }),
  };
}

export const text = (description?: string): JsonSchema => ({ type: 'string', ...said(description) });
export const flag = (description?: string): JsonSchema => ({ type: 'boolean', ...said(description) });
export const number = (description?: string): JsonSchema => ({ type: 'number', ...said(description) });
export const integer = (description?: string): JsonSchema => ({ type: 'integer', ...said(description) });
export const count = (description?: string): JsonSchema => ({ type: 'integer', minimum: 0, ...said(description) });

/** Time in epoch milliseconds. */
export const time = (description?: string): JsonSchema => ({ type: 'integer', format: 'int64', ...said(description) });

/** Span of time in milliseconds. */
export const span = (description?: string): JsonSchema => ({ type: 'number', ...said(description) });

export const dollars = (description?: string): JsonSchema => ({ type: 'number', ...said(description) });

export const choice = (values: readonly string[], description?: string): JsonSchema => ({
  type: 'string',
  enum: values,
  ...said(description),
});

export const listOf = (items: JsonSchema, description?: string): JsonSchema => ({
  type: 'array',
  items,
  ...said(description),
});

export const mapOf = (values: JsonSchema, description?: string): JsonSchema => ({
  type: 'object',
  additionalProperties: values,
  ...said(description),
});

/** Object with any fields. */
export const anyObject = (description?: string): JsonSchema => ({ type: 'object', ...said(description) });

/** Any JSON value. */
export const anything = (description?: string): JsonSchema => ({ ...said(description) });

export const oneOf = (...schemas: readonly JsonSchema[]): JsonSchema => ({ anyOf: schemas });

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

function said(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
