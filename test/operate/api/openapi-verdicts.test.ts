/** The schemas of the document and the daemon's own parsers accept the same values. */
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiDocument } from '#operate/contract/document.ts';
import { API_ROUTES } from '#operate/api/routes.ts';
import { GROUPS } from '#operate/contract/index.ts';
import { methodOf, pathOf, type ContractRoute } from '#operate/contract/route.ts';
import { checkBody } from '#operate/http/json-body.ts';
import { pastOf, readQuery } from '#operate/http/query.ts';
import { ask, NOW, serving, world } from '../http/world.ts';

const DOCUMENT = apiDocument('0.0.0');
const ROUTES = GROUPS.flatMap(({ routes }): readonly ContractRoute[] => routes);
// The patterns beside the formats decide.
const ajv = new Ajv2020({ strict: true, formats: { base64: true, 'date-time': true } });

/** Texts near the borders of what the parameters accept. */
const VALUES: readonly string[] = [
  '',
  ' ',
  ' 5',
  '2h ',
  '2026-11-17 12:00',
  '2026-11-17 (noon)',
  '2026-11-17T12:00:00 01:00',
  ...'0 1 50 200 201 500 501 050 5.0 1e2 0x10 +5 -1 Infinity'.split(' '),
  ...'2h 1h30m 1.5d .5d 2H -2h 1764161322 1764161322000 999999999999999 9999999999999999'.split(' '),
  ...'2026-11-17 2026-02-30 2024-02-29 2026-02-29 2026-13-01 0000-01-01 yesterday'.split(' '),
  ...'2026-11-17T12:00 2026-11-17T12:00Z 2026-11-17T24:00Z 2026-11-17T12:00:60Z'.split(' '),
  ...'2026-11-17T12:00:00.123456789+01:00 9999-12-31T23:59:59Z'.split(' '),
  ...'MTIz a+b/c== 12.34 1.2.3 true TRUE workflow open DELIVERED transient'.split(' '),
  ...['9'.repeat(38), '9'.repeat(400)].map((days) => `${days}d`),
  ...[1_000, 1_001].map((length) => 'x'.repeat(length)),
  ...[501, 1_001].map((length) => '😀'.repeat(length)),
];

/** Fields of bodies. */
const FIELDS: readonly unknown[] = [
  ...VALUES,
  null,
  true,
  -1,
  1.5,
  NOW,
  8.64e15,
  8.64e15 + 1,
  '\u0000',
  '\u2003',
  ' x ',
  'x'.repeat(500),
  'x'.repeat(501),
  `${'x'.repeat(500)} `,
  '😀'.repeat(201),
  [],
  {},
  { settings: {}, reason: 'r' },
  { settings: { a: '1' }, reason: 'r' },
  { a: 'x'.repeat(1_001) },
  { ['a'.repeat(101)]: 'x' },
];

interface Body {
  readonly anyOf?: readonly Body[];
  readonly required?: readonly string[];
  readonly properties?: object;
}

const text = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.string({ unit: 'binary', maxLength: 12 }).filter((one) => one.isWellFormed()),
  fc.integer({ min: -5, max: 600 }).map(String),
  fc.stringMatching(/^\d{1,3}(?:\.\d)?(?:ms|s|m|h|d|w)$/),
  fc.stringMatching(/^20\d\d-[01]\d-[0-3]\d(?:T[0-2]\d:[0-6]\d(?::[0-6]\d)?(?:Z|[+-][0-2]\d:?\d\d)?)?$/),
  fc.tuple(fc.constantFrom(...VALUES), fc.constantFrom(' ', '\n', '0', 'Z')).map((parts) => parts.join('')),
);

/** Value of a parameter as a client has it: an integer is one only in its usual form. */
function typed(schema: { readonly type?: string }, values: readonly string[]): unknown {
  if (schema.type === 'array') return values;
  const [value = ''] = values;
  return schema.type === 'integer' && /^-?(?:0|[1-9]\d*)$/.test(value) ? Number(value) : value;
}

const validators = new Map<object, ValidateFunction>();
function accepts(schema: object, value: unknown): boolean {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  return validate(value);
}

function isAccepted(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ status: 400 });
    return false;
  }
}

const PARAMETERS = ROUTES.flatMap((route) =>
  (DOCUMENT.paths[pathOf(route)]?.[methodOf(route).toLowerCase()]?.parameters ?? [])
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => ({ where: `${pathOf(route)}?${name}`, name, schema, query: route.query })),
);

describe('the document and the parser agree', () => {
  test.each(PARAMETERS)('on $where', ({ name, schema, query }) => {
    const isList = (schema as { readonly type?: string }).type === 'array';
    const agrees = (values: readonly string[]): void => {
      const parameters = new URLSearchParams(values.map((value): [string, string] => [name, value]));
      expect([values, accepts(schema, typed(schema, values))]).toEqual([
        values,
        isAccepted(() => readQuery(parameters, query)),
      ]);
    };
    for (const value of VALUES) agrees([value]);
    fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: isList ? 22 : 1 }), agrees));
  });

  const BODIES = ROUTES.filter(({ body }) => body !== undefined).flatMap(({ key, body }) => {
    const path = pathOf({ key });
    const schema = DOCUMENT.paths[path]!['post']!.requestBody!.content['application/json'].schema as Body;
    return (schema.anyOf ?? [schema]).map((form) => ({ path, schema, form, body: body! }));
  });

  test.each(BODIES)('on the body of $path', ({ schema, form, body }) => {
    const agrees = (value: object): void => {
      expect([value, accepts(schema, value)]).toEqual([value, isAccepted(() => checkBody(value, body, '{}'))]);
    };
    const valid: Record<string, unknown> = Object.fromEntries((form.required ?? []).map((key) => [key, 'x']));
    if ('selection' in valid) valid['selection'] = { action: 'resume' };
    if ('of' in valid) valid['of'] = ['x'];
    if ('until' in valid) valid['until'] = '2h';
    expect([valid, accepts(schema, valid)]).toEqual([valid, true]);
    agrees(valid);
    for (const key of [...Object.keys(form.properties ?? {}), 'unknown']) {
      for (const value of FIELDS) agrees({ ...valid, [key]: value });
      fc.assert(
        fc.property(text, (value) => agrees({ ...valid, [key]: value })),
        { numRuns: 30 },
      );
    }
    if (!('selection' in valid)) return;
    for (const value of FIELDS) {
      for (const key of ['fromDate', 'toDate']) agrees({ ...valid, selection: { action: 'resume', [key]: value } });
    }
  });
});

test('every accepted time is a date', () => {
  const { query } = PARAMETERS.find(({ where }) => where === '/api/v1/audit?since')!;
  const check = (value: string): void => {
    const parameters = new URLSearchParams({ since: value });
    if (!isAccepted(() => readQuery(parameters, query))) return;
    const at = pastOf(value, NOW);
    expect([value, at >= 0, Number.isNaN(new Date(at).getTime())]).toEqual([value, true, false]);
  };
  for (const value of VALUES) check(value);
  fc.assert(fc.property(text, check));
});

test('every route rejects a parameter that it does not have', async () => {
  const { address } = await serving(world({ anonymous: 'viewer' }));
  for (const { method, path } of API_ROUTES) {
    if (method !== 'GET') continue;
    const { status, text: body } = await ask(address, `${path.replace('{id}', 'x')}?x=1`);
    expect([path, status, body]).toEqual([path, 400, expect.stringContaining('unknown parameters: x; available: ')]);
  }
});

test('every operation documents the errors of any request', () => {
  for (const methods of Object.values(DOCUMENT.paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(['400', '401', '408', '431']));
    }
  }
  expect(Object.keys(DOCUMENT.components.responses['Error431']!.content)).toEqual(['text/plain']);
});
