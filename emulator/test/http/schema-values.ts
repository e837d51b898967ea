/** Values generated from a schema: allowed ones, and similar ones that may be invalid. */
import fc from 'fast-check';
import type { JsonSchema } from '../../../test/support/interface-document.ts';
import type { Schemas } from '../../../test/support/json-schema.ts';

const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' })).filter((value) => value.isWellFormed());

/** Values of a wrong type, for any place. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, '', ' ', 0, -1, 0.5, 1e300, '1', 'true', [null], [[]], [{}]),
  fc.integer(),
  text,
);

export function allowed(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  return made(schema, schemas, (_part, value) => value);
}

export function near(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  return made(schema, schemas, (part, value) =>
    fc.oneof(
      { weight: 6, arbitrary: value },
      { weight: 1, arbitrary: beside(part) },
      { weight: 1, arbitrary: strange },
    ),
  );
}

type Spoil = (schema: JsonSchema, value: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>;

function made(schema: JsonSchema, schemas: Schemas, spoil: Spoil): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return made(schemas[schema.$ref.split('/').at(-1)!]!, schemas, spoil);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => made(one, schemas, spoil)));
  return spoil(
    schema,
    sound(schema, (part) => made(part, schemas, spoil)),
  );
}

function sound(schema: JsonSchema, part: (schema: JsonSchema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  if (schema.type === undefined) return strange;
  switch (schema.type) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, part(field)] as const);
      const requiredKeys = [...(schema.required ?? [])];
      return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true });
    }
    case 'array':
      return fc.array(part(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 5 });
    case 'integer':
      return fc.maxSafeInteger().map((value) => within(value, schema));
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'string':
      return soundText(schema);
  }
}

function soundText({ enum: values, format, pattern, minLength = 0, maxLength = Infinity }: JsonSchema) {
  if (values !== undefined) return fc.constantFrom(...values);
  const matches = new RegExp(pattern ?? '', 'u');
  const any =
    format === 'uri'
      ? fc.webUrl({ withQueryParameters: true })
      : pattern === '\\S' || pattern === undefined
        ? text
        : fc.stringMatching(matches);
  return any.filter((value) => matches.test(value) && value.length >= minLength && value.length <= maxLength);
}

/** Values spread over the bounds, with the bounds themselves as frequent cases. */
function within(value: number, { minimum = -Number.MAX_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema) {
  const span = maximum - minimum + 1;
  return span > Number.MAX_SAFE_INTEGER ? value : minimum + (Math.abs(value) % span);
}

/** Values just outside of the bounds of a scalar. */
function beside(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.constantFrom(...edgesOfScalar(schema));
}

function edgesOfScalar({ enum: values = [], minimum, maximum, maxLength = 0 }: JsonSchema): readonly unknown[] {
  const bounds = [minimum, maximum].filter((bound) => bound !== undefined);
  return [
    ...values.flatMap((one) => [one, `${one}x`, String(one).toLowerCase(), ` ${one}`]),
    ...bounds.flatMap((bound) => [bound - 1, bound, bound + 1, bound + 0.5, String(bound)]),
    ...(maxLength > 0 ? ['a'.repeat(maxLength), 'a'.repeat(maxLength + 1)] : []),
    '',
    ' ',
    'x',
    7,
    null,
    true,
    [],
    {},
  ];
}

/** Returns every edge of every part of a value, one at a time: bounds, wrong types, missing parts. */
export function edges(base: unknown, schema: JsonSchema, schemas: Schemas): readonly unknown[] {
  if (schema.$ref !== undefined) return edges(base, schemas[schema.$ref.split('/').at(-1)!]!, schemas);
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => edges(base, one, schemas));
  if (schema.type === 'object') {
    const whole = base as Readonly<Record<string, unknown>>;
    const changed = Object.entries(schema.properties ?? {}).flatMap(([name, part]) => [
      ...edges(whole[name], part, schemas).map((edge) => ({ ...whole, [name]: edge })),
      Object.fromEntries(Object.entries(whole).filter(([field]) => field !== name)),
    ]);
    return [whole, ...changed, null, [], 'x', 7];
  }
  if (schema.type === 'array') {
    const [first] = base as readonly unknown[];
    return [[], ...edges(first, schema.items ?? {}, schemas).map((edge) => [edge]), null, {}, 'x'];
  }
  return edgesOfScalar(schema);
}
