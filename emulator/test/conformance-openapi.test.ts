/** Compares two readings of the interface: the manually written list of names, and the OpenAPI document. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS, RECORDS, VALUES } from './interface-names.ts';

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema: Schema;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const DOCUMENT = JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8')) as OpenApi;

/** Schema of each record, with the fields that known installations add to the interface. */
const SCHEMAS = [
  ['2.1.group', 'UrlGroup', []],
  ['2.1.endpoint', 'Endpoint', []],
  ['2.2.result', 'PublishResult', []],
  ['2.3.page', 'LogPage', []],
  ['2.3.log', 'LogEntry', ['state', 'bodyBase64']],
  ['2.4.run', 'FailedWorkflowMessage', ['failureCallbackInfo']],
  ['2.5.reference', 'WorkflowRun', []],
  ['2.6.key', 'FlowControlKey', []],
  ['2.7.account', 'Account', []],
  ['2.8.index', 'SearchIndex', []],
  ['2.9.point', 'DataPoint', []],
  ['2.9.series', 'Series', []],
  ['2.10.vector', 'VectorStatistics', []],
  ['2.11.stats', 'AccountStatistics', []],
  ['6.body', 'Callback', []],
] as const;

const operations = new Map(
  Object.values(DOCUMENT.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation] as const),
);

const sorted = (names: readonly string[]): readonly string[] => names.toSorted((a, b) => a.localeCompare(b));

function resolved(schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split('/').at(-1);
  return name === undefined ? (schema ?? {}) : DOCUMENT.components.schemas[name]!;
}

/** Returns the names of a JSON body's fields. Fields of an array's items follow its name: `endpoints.url`. */
function bodyFields(schema: Schema | undefined): readonly string[] {
  return Object.entries(resolved(schema).properties ?? {}).flatMap(([name, field]) => [
    name,
    ...Object.keys(resolved(resolved(field).items).properties ?? {}).map((inner) => `${name}.${inner}`),
  ]);
}

describe('the document and the list of names', () => {
  test('have the same operations', () => {
    expect(sorted(Object.keys(OPERATIONS))).toEqual(sorted(Object.keys(OPERATION_IDS)));
    expect(Object.values(OPERATION_IDS).filter((id) => !operations.has(id))).toEqual([]);
  });

  test.each(Object.keys(OPERATION_IDS))('have the same parameters, headers and body of %s', (name) => {
    const listed = OPERATIONS[name]!;
    const told = operations.get(OPERATION_IDS[name]!)!;
    const of = (place: string): readonly string[] =>
      sorted((told.parameters ?? []).filter((parameter) => parameter.in === place).map((parameter) => parameter.name));
    expect(of('path')).toEqual(sorted(listed.path ?? []));
    expect(of('query')).toEqual(sorted(listed.query ?? []));
    // OpenAPI has no parameter for the content type, and none for header prefixes.
    const plain = (listed.header ?? []).filter((header) => header !== 'Content-Type' && !header.endsWith('<Name>'));
    expect(of('header')).toEqual(sorted(plain));
    const body = bodyFields(told.requestBody?.content['application/json']?.schema);
    expect(sorted(body)).toEqual(sorted(listed.body ?? []));
  });

  test.each(SCHEMAS)('have the same fields of %s, of the same kinds', (record, schema, more) => {
    const { properties = {} } = DOCUMENT.components.schemas[schema]!;
    expect(sorted(Object.keys(properties))).toEqual(sorted([...Object.keys(RECORDS[record]), ...more]));
    for (const [name, kind] of Object.entries(RECORDS[record])) {
      const type = /s$|array/.test(kind) ? 'array' : kind;
      expect([name, resolved(properties[name]).type]).toEqual([name, type]);
    }
  });

  test.each(Object.keys(VALUES))('have the same values of %s', (name) => {
    const [owner, field] = name.split('.') as [string, string];
    const parameter = operations.get(owner)?.parameters?.find((one) => one.name === field)?.schema;
    const schema = parameter ?? DOCUMENT.components.schemas[owner]!.properties![field]!;
    // Both spellings of CANCELLED occur.
    const values = (schema.items ?? schema).enum!.filter((value) => value !== 'CANCELED');
    expect(sorted(values)).toEqual(sorted(VALUES[name]!));
  });
});
