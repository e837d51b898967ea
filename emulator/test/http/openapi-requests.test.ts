/**
 * Requests generated from the OpenAPI document: the service accepts the values that the schemas allow, and rejects all
 * others.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DOCUMENT,
  OPERATIONS,
  type JsonSchema,
  type OperationObject,
} from '../../../test/support/interface-document.ts';
import { problems } from '../../../test/support/json-schema.ts';
import { allowed, edges, near } from './schema-values.ts';
import { ACCOUNT, TOKEN, world, type World } from '../world.ts';

const { schemas } = DOCUMENT.components;
const INDEX = 'idx-1';
/** Address without a listener. */
const NOWHERE = 'http://127.0.0.1:1/';

interface Placed {
  readonly name: string;
  readonly method: string;
  /** Target with values for its parameters. */
  readonly target: string;
  readonly operation: OperationObject;
}

const PATH_VALUES: Readonly<Record<string, string>> = {
  urlGroupName: 'group',
  destination: NOWHERE,
  workflowUrl: NOWHERE,
  flowControlKey: 'key',
};

const ALL: readonly Placed[] = OPERATIONS.map(({ name, method, path, object }) => ({
  name,
  method,
  target: path.replaceAll(/\{(\w+)\}/g, (_whole, part: string) =>
    part === 'id' ? (path.includes('/msgsvc/') ? ACCOUNT : INDEX) : PATH_VALUES[part]!,
  ),
  operation: object,
}));

async function served(): Promise<World> {
  const service = await world();
  service.emulator.indexes.create({ id: INDEX, name: 'x', region: 'eu-west-1', type: 'payg', customerId: 'c' });
  return service;
}

interface Sent {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function statusOf(service: World, { operation, method, target }: Placed, sent: Sent): Promise<number> {
  const isMessage = operation.tags.includes('message');
  const Authorization = isMessage ? `Bearer ${TOKEN}` : `Basic ${btoa('ops@example.com:pass:word')}`;
  const { headers, body, query = '' } = sent;
  const { status } = await service.call(method, target + query, {
    headers: { Authorization, ...headers },
    ...(body !== undefined && { body }),
  });
  return status;
}

/** A field that the schema does not name is allowed. */
const isAllowed = (value: unknown, schema: JsonSchema): boolean =>
  problems(value, schema, schemas).every((line) => line.includes('must NOT have additional properties'));

function schemaOfBody({ requestBody }: OperationObject): JsonSchema | undefined {
  return requestBody?.content['application/json']?.schema;
}

describe('a JSON body', () => {
  const withBody = ALL.flatMap((one) => {
    const schema = schemaOfBody(one.operation);
    return schema === undefined ? [] : [[one.name, one, schema] as const];
  });

  test.each(withBody)(
    'of %s is accepted when its schema allows it, and else rejected',
    async (_name, placed, schema) => {
      const service = await served();
      const seen = new Set<boolean>();
      const example = placed.operation.requestBody!.content['application/json']!.examples!['request']!.value;
      const known = edges(example, schema, schemas).map((value): [unknown] => [value]);
      await fc.assert(
        fc.asyncProperty(fc.oneof(allowed(schema, schemas), near(schema, schemas)), async (value) => {
          const body = JSON.stringify(value);
          const status = await statusOf(service, placed, { body });
          // The interface lists all index types, but one is not available.
          const unavailable = placed.name === 'create-index' && body.includes('"fixed"');
          const fine = isAllowed(JSON.parse(body), schema) && !unavailable;
          seen.add(fine);
          // The service checks the body before it looks for the account.
          expect(fine ? [200, 404] : [400]).toContain(status);
        }),
        { examples: known, numRuns: known.length + 40 },
      );
      expect(seen.size).toBe(2);
    },
  );
});

type Parameter = NonNullable<OperationObject['parameters']>[number];

const parametersIn = (place: Parameter['in']) =>
  ALL.flatMap((placed) =>
    (placed.operation.parameters ?? [])
      .filter((parameter) => parameter.in === place)
      .map((parameter) => [placed.name, parameter.name, placed, parameter] as const),
  );

/** Returns a parameter in its sent form; undefined for a value that is empty or has no text. */
function written(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value);
  return text.trim() === text && text !== '' && text.isWellFormed() ? text : undefined;
}

/** Returns the value that a schema sees in a text. */
function read(text: string, { type }: JsonSchema): unknown {
  return type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text;
}

const isInteger = (schema: JsonSchema): boolean => schema.type === 'integer' || schema.items?.type === 'integer';
/** Accepts numbers in JSON's form. Other forms of an integer would parse to the same value. */
const isPlain = (text: string, schema: JsonSchema): boolean => !isInteger(schema) || !/^-?0\d|^-0$/.test(text);

describe('a query parameter', () => {
  // Cursors are excluded: only a response can provide a valid one.
  const own = parametersIn('query').filter(([, name]) => name !== 'cursor');

  test.each(own)(
    'of %s, %s, is accepted when its schema allows it, and else rejected',
    async (_name, name, placed, one) => {
      const service = await served();
      const isList = one.schema.type === 'array';
      const item = one.schema.items ?? one.schema;
      const isFit = (value: unknown): boolean => {
        const text = written(value);
        // A comma would separate it.
        return text !== undefined && isPlain(text, item) && !(isList && text.includes(','));
      };
      const values = fc.oneof(allowed(item, schemas), near(item, schemas)).filter(isFit);
      const known = edges(undefined, item, schemas)
        .filter(isFit)
        .map((value): [unknown[]] => [[value]]);
      await fc.assert(
        fc.asyncProperty(fc.array(values, { minLength: 1, maxLength: isList ? 3 : 1 }), async (list) => {
          const texts = list.map((value) => written(value)!);
          const query = texts.map((text) => `${name}=${encodeURIComponent(text)}`).join('&');
          const status = await statusOf(service, placed, { query: `?${query}` });
          const fine = texts.every((text) => isAllowed(read(text, item), item));
          expect(status).toBe(fine ? 200 : 400);
        }),
        { examples: known, numRuns: known.length + 6 },
      );
    },
  );
});

/** Returns the headers that a header requires. */
function beside(name: string): Readonly<Record<string, string>> {
  const group = /^Svc-((?:Failure-)?Callback)-/.exec(name)?.[1];
  return {
    ...(group !== undefined && { [`Svc-${group}`]: NOWHERE }),
    ...(name === 'Svc-Flow-Control-Key' && { 'Svc-Flow-Control-Value': 'rate=1' }),
    ...(name === 'Svc-Flow-Control-Value' && { 'Svc-Flow-Control-Key': 'k' }),
  };
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 };
const TEN_YEARS = 3_650 * 86_400;

function seconds(duration: string): number {
  const parts = [...duration.matchAll(/(\d+)([smhd]?)/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_SECONDS[unit!]!, 0);
}

/** Checks rules that the description has but no pattern. */
function isSaid(name: string, text: string): boolean {
  if (name.endsWith('Timeout')) return seconds(text) > 0 && seconds(text) <= TEN_YEARS;
  if (name.endsWith('Delay')) return seconds(text) <= TEN_YEARS;
  if (name !== 'Svc-Flow-Control-Value') return true;
  const pairs = text.split(',').map((part) => part.split('=').map((half) => half.trim()) as [string, string]);
  const given = new Map(pairs);
  const period = given.get('period');
  return (
    given.size === pairs.length &&
    (given.has('parallelism') || given.has('rate')) &&
    (period === undefined || (given.has('rate') && seconds(period) > 0 && seconds(period) <= TEN_YEARS))
  );
}

describe('a header', () => {
  const own = parametersIn('header').filter(([, name]) => !name.endsWith('Retry-Delay'));

  test.each(own)(
    'of %s, %s, is accepted when its schema allows it, and else rejected',
    async (_name, name, placed, one) => {
      const service = await served();
      const isFit = (value: unknown): boolean => {
        const text = written(value);
        return text !== undefined && /^[ -~]*$/.test(text) && isPlain(text, one.schema);
      };
      const values = fc.oneof(allowed(one.schema, schemas), near(one.schema, schemas)).filter(isFit);
      const known = edges(undefined, one.schema, schemas)
        .filter(isFit)
        .map((value): [unknown] => [value]);
      await fc.assert(
        fc.asyncProperty(values, async (value) => {
          const text = written(value)!;
          const status = await statusOf(service, placed, { headers: { ...beside(name), [name]: text } });
          const fine = isAllowed(read(text, one.schema), one.schema);
          if (!fine) expect(status).toBe(400);
          else expect(status).toBe(isSaid(name, text) ? 200 : 400);
        }),
        { examples: known, numRuns: known.length + 6 },
      );
    },
  );
});

test('a name of a URL Group is accepted when its schema allows it, and else rejected', async () => {
  const service = await served();
  const placed = ALL.find(({ name }) => name === 'add-endpoints')!;
  const { schema } = placed.operation.parameters!.find(({ name }) => name === 'urlGroupName')!;
  const body = JSON.stringify({ endpoints: [{ url: NOWHERE }] });
  const dots = fc.constantFrom('.', '..', '...', '.a', 'a.');
  const values = fc
    .oneof(allowed(schema, schemas), near(schema, schemas), dots)
    .filter((value) => typeof value === 'string' && value !== '' && value.isWellFormed());
  await fc.assert(
    fc.asyncProperty(values, async (value) => {
      const target = placed.target.replace('group', encodeURIComponent(value as string));
      expect(await statusOf(service, { ...placed, target }, { body })).toBe(isAllowed(value, schema) ? 200 : 400);
    }),
    { numRuns: 120 },
  );
});
