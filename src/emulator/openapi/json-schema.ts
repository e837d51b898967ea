/** The part of JSON Schema 2020-12 that the OpenAPI document uses, with short constructors. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly format?: string;
  readonly enum?: readonly (string | number)[];
  readonly default?: string | number | boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

export const text = (description?: string): JsonSchema => ({ type: 'string', ...said(description) });

/** Pattern of a URL in ASCII, with a host and without credentials. Request readers use it too. */
export const HTTP_URL = '^[hH][tT][tT][pP][sS]?://[!-"$-.0->A-~]+([/?#][!-~]*)?$';

export const httpUrl = (description?: string): JsonSchema => ({
  type: 'string',
  format: 'uri',
  pattern: HTTP_URL,
  ...said(description),
});

export const integer = (description?: string): JsonSchema => ({ type: 'integer', ...said(description) });

/** Schema of an integer beyond 32 bits. */
export const long = (description?: string): JsonSchema => ({ type: 'integer', format: 'int64', ...said(description) });

export const number = (description?: string): JsonSchema => ({ type: 'number', ...said(description) });

export const flag = (description?: string): JsonSchema => ({ type: 'boolean', ...said(description) });

export const listOf = (items: JsonSchema, description?: string): JsonSchema => ({
  type: 'array',
  items,
  ...said(description),
});

export const choiceOf = (values: readonly string[], description?: string): JsonSchema => ({
  type: 'string',
  enum: values,
  ...said(description),
});

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Schema of an object. All fields are required, except those in `optional`. */
export function objectOf(
  properties: Readonly<Record<string, JsonSchema>>,
  options: { readonly optional?: readonly string[]; readonly description?: string } = {},
): JsonSchema {
  const optional = new Set(options.optional);
  const required = Object.keys(properties).filter((name) => !optional.has(name));
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...said(options.description),
  };
}

function said(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
