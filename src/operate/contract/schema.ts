/**
 * Builders of the contract's schemas: the part of JSON Schema 2020-12 that the API's document uses. Each schema has the
 * TypeScript type of its values, so that a field is stated once.
 */

type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null';

/** Name of the property that has the type of a schema's values; it exists only for the compiler. */
declare const VALUE: unique symbol;

/** Key of the definition that a reference to a named schema has. JSON does not show it. */
export const DEFINITION: unique symbol = Symbol('definition');

/** @typeParam T type of the values */
export interface Schema<T = unknown> {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: TypeName | readonly TypeName[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly [DEFINITION]?: { readonly name: string; readonly schema: Schema };
  readonly [VALUE]?: { readonly of: T };
}

/** Type of the values of a schema. */
export type Infer<S> = S extends { readonly [VALUE]?: { readonly of: infer T } } ? T : never;

/** Field that may be absent. */
interface Optional<T = unknown> {
  readonly optional: Schema<T>;
}

type Field = Schema | Optional;
type Fields = Readonly<Record<string, Field>>;

type OptionalName<F> = { [K in keyof F]: F[K] extends Optional ? K : never }[keyof F];
type ValuesOf<F> = { readonly [K in Exclude<keyof F, OptionalName<F>>]: Infer<F[K]> } & {
  readonly [K in OptionalName<F>]?: F[K] extends Optional<infer T> ? T : never;
};

/** Fields of an existing type. Its optional fields need `opt`. */
type FieldsOf<T> = { readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? Optional : Schema };

export const opt = <T>(schema: Schema<T>): Optional<T> => ({ optional: schema });

/** Texts that may be absent. */
export function optTexts<const N extends string>(...names: readonly N[]): Readonly<Record<N, Optional<string>>> {
  return Object.fromEntries(names.map((name) => [name, opt(text())])) as Record<N, Optional<string>>;
}

/** Object whose type follows from its fields. */
export function object<const F extends Fields>(fields: F, description?: string): Schema<ValuesOf<F>> {
  return objectWith(fields, description);
}

/** Object of a type that another room states; the compiler requires every field. */
export function objectOf<T>(fields: FieldsOf<T>, description?: string): Schema<T> {
  return objectWith(fields, description);
}

function objectWith<T>(fields: Readonly<Record<string, Field>>, description: string | undefined): Schema<T> {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => !('optional' in field)).map(([name]) => name);
  return {
    type: 'object',
    description,
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, 'optional' in field ? field.optional : field]),
    ),
    ...(required.length > 0 && { required }),
  };
}

/** Named schema: the document has it once, and refers to it. */
export function named<T>(name: string, schema: Schema<T>): Schema<T> {
  return { $ref: `#/components/schemas/${name}`, [DEFINITION]: { name, schema } };
}

export const text = (description?: string): Schema<string> => ({ type: 'string', description });
export const flag = (description?: string): Schema<boolean> => ({ type: 'boolean', description });
export const number = (description?: string): Schema<number> => ({ type: 'number', description });
export const integer = (description?: string): Schema<number> => ({ type: 'integer', description });
export const count = (description?: string): Schema<number> => ({ type: 'integer', minimum: 0, description });

/** Time in epoch milliseconds. */
export const time = (description?: string): Schema<number> => ({ type: 'integer', format: 'int64', description });

/** Span of time in milliseconds. */
export const span = (description?: string): Schema<number> => number(description);
export const dollars = (description?: string): Schema<number> => number(description);

export const orNull = <T>(schema: Schema<T>): Schema<T | null> =>
  schema.$ref === undefined
    ? { ...schema, type: [schema.type as TypeName, 'null'] }
    : { anyOf: [schema, { type: 'null' }] };

export const choice = <const V extends string>(values: readonly V[], description?: string): Schema<V> => ({
  type: 'string',
  enum: values,
  description,
});

export const listOf = <T>(items: Schema<T>, description?: string): Schema<readonly T[]> => ({
  type: 'array',
  items,
  description,
});

export const mapOf = <T>(values: Schema<T>, description?: string): Schema<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
  description,
});

/** Object with any fields. */
export const anyObject = (description?: string): Schema<Readonly<Record<string, unknown>>> => ({
  type: 'object',
  description,
});

/** Any JSON value. */
export const anything = (description?: string): Schema => ({ description });

type KeyOf<U> = U extends unknown ? keyof U : never;
/** Union whose members lack the fields of the others. */
type Either<U, K extends PropertyKey> = U extends unknown
  ? U & { readonly [P in Exclude<K, keyof U>]?: undefined }
  : never;

export const oneOf = <S extends readonly Schema[]>(
  ...schemas: S
): Schema<Either<Infer<S[number]>, KeyOf<Infer<S[number]>>>> => ({ anyOf: schemas });

export const at = time('Time of the response.');

/** Cursor of a list. */
export const cursor = opt(text('Continues the list; absent at its end.'));
