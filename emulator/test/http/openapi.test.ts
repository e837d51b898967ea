/**
 * Compares the OpenAPI document with the routes, the recorded responses, the responses of a running emulator, and
 * OpenAPI's rules.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { managementRoutes, type ManagementDeps } from '#emulator/http/management-routes.ts';
import type { MessageContext } from '#emulator/http/message-context.ts';
import { messageRoutes } from '#emulator/http/message-routes.ts';
import { HEADER_PARAMETERS } from '#emulator/http/header-parameters.ts';
import { QUERY_PARAMETERS, queryTableOf } from '#emulator/http/query-parameters.ts';
import type { Route } from '#emulator/http/route.ts';
import { opsd } from '../../../test/cli/terminal.ts';
import {
  DOCUMENT as document,
  documentIn,
  headerTableOf,
  OPERATIONS,
  parametersIn,
  type JsonSchema,
  type OperationObject,
  type Reference,
  type ResponseObject,
} from '../../../test/support/interface-document.ts';
import { problems } from '../../../test/support/json-schema.ts';
import { world } from '../world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

const { schemas } = document.components;

/** Returns the requests that an operation makes the service send. */
const calledBy = ({ callbacks = {} }: OperationObject) =>
  Object.values(callbacks).flatMap((callback) => Object.values(callback).map(({ post }) => post));

const called = OPERATIONS.flatMap(({ object }) => calledBy(object));

function operationOf(name: string): OperationObject {
  return OPERATIONS.find((one) => one.name === name)!.object;
}

function answerSchema(name: string): JsonSchema | undefined {
  const answer = operationOf(name).responses['200']!;
  return 'content' in answer ? answer.content?.['application/json']?.schema : undefined;
}

function referred({ $ref }: Reference): ResponseObject {
  return document.components.responses[$ref.split('/').at(-1)!]!;
}

/** Returns the alternatives of a schema, or the schema itself. */
function forms(schema: JsonSchema): readonly JsonSchema[] {
  const named = schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!;
  return named.anyOf ?? [named];
}

/** Returns the routes as the emulator creates them. No request is made, so their parts are not used. */
function routes(product = 'msgsvc'): readonly Route[] {
  const accounts = { all: () => [] };
  const management = { clock: { now: () => 0 }, accounts, product } as unknown as ManagementDeps;
  return [...messageRoutes({} as MessageContext), ...managementRoutes(management)];
}

describe('the operations of the document', () => {
  const names = OPERATIONS.map(({ name }) => name);

  test('are the routes of the emulator, in its spelling', () => {
    const told = documentIn({ headerPrefix: 'Svc', product: 'acmeq' }).paths;
    const expected = Object.entries(told).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId, tags }]) => {
        const pattern = path.replace(/\{(destination|workflowUrl)\}$/, '*$1').replaceAll(/\{(\w+)\}/g, ':$1');
        return { api: tags[0], operation: operationId, method: method.toUpperCase(), pattern };
      }),
    );
    const served = routes('acmeq').map(({ handle: _handle, ...route }) => route);
    expect(new Set(served)).toEqual(new Set(expected));
    expect(new Set(names).size).toBe(20);
  });

  test('have the parameters that requests are read by', () => {
    const strays = [...Object.keys(QUERY_PARAMETERS), ...Object.keys(HEADER_PARAMETERS)];
    expect(strays.filter((name) => !names.includes(name))).toEqual([]);
    for (const operation of OPERATIONS) {
      const told = Object.fromEntries(parametersIn(operation, 'query').map(({ name, schema }) => [name, schema]));
      const table = queryTableOf(operation.name);
      expect(Object.keys(told).toSorted(), operation.name).toEqual(Object.keys(table).toSorted());
      for (const [name, { values, default: fallback }] of Object.entries(table)) {
        const { items, ...schema } = told[name]!;
        expect((items ?? schema).enum, name).toEqual(values);
        if (fallback !== undefined) expect(schema.default).toBe(fallback);
      }
    }
  });
});

describe('the document is available', () => {
  test('by the emulator, without credentials and in its spelling', async () => {
    const service = await world({ headerPrefix: 'Acme', product: 'acmeq' });
    const answer = await fetch(`${service.emulator.url}/-/openapi.json`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(documentIn({ headerPrefix: 'Acme', product: 'acmeq' }));
  });

  test('health needs no credentials either', async () => {
    const service = await world();
    const answer = await fetch(`${service.emulator.url}/health`);
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  });

  test('by the command', async () => {
    const { code, stdout, stderr } = await opsd(['emulator', '--openapi', '--product', 'acmeq']);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual(documentIn({ headerPrefix: 'Svc', product: 'acmeq' }));
  });

  test('in docs/openapi.json, which `npm run openapi` generates', () => {
    expect(read('docs/openapi.json')).toEqual(document);
  });

  test('without the neutral names where an installation has its own', () => {
    const text = JSON.stringify(documentIn({ headerPrefix: 'Acme', product: 'acmeq' }));
    expect(text).not.toMatch(/Svc|msgsvc/);
    for (const name of ['/v2/acmeq/stats/{id}', 'acmeq_id', 'acmeq_fixed_1m', 'daily_acmeq_messages', 'Acme-Retries']) {
      expect(text).toContain(name);
    }
  });
});

describe('the rules of OpenAPI 3.1', () => {
  test('operation ids are unique, tags, descriptions, and security schemes declared', () => {
    const ids = [...OPERATIONS.map(({ name }) => name), ...called.map((one) => one.operationId)];
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map((tag) => tag.name);
    for (const { object: operation } of OPERATIONS) {
      expect(operation.tags.filter((tag) => !tags.includes(tag))).toEqual([]);
      expect([operation.tags.length, operation.description], operation.operationId).toEqual([
        1,
        expect.stringMatching(/./),
      ]);
      for (const scheme of operation.security.flatMap((one) => Object.keys(one))) {
        expect(document.components.securitySchemes).toHaveProperty(scheme);
      }
    }
  });

  test.each(OPERATIONS.map((one) => [one.name, one] as const))('%s', (_name, { path, method, object: operation }) => {
    const parameters = operation.parameters ?? [];
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const declared = parameters.filter((parameter) => parameter.in === 'path');
    expect(declared.map((parameter) => parameter.name)).toEqual(inPath);
    expect(declared.every((parameter) => parameter.required === true)).toBe(true);
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
    expect(new Set(keys).size).toBe(keys.length);
    // OpenAPI ignores these headers, so the document must not use them.
    expect(keys.filter((key) => /^header (accept|content-type|authorization)$/.test(key))).toEqual([]);
    expect(Object.keys(operation.responses).every((status) => /^(?:[1-5](?:\d\d|XX)|default)$/.test(status))).toBe(
      true,
    );
    expect(Object.values(operation.responses).every((one) => '$ref' in one || one.description !== undefined)).toBe(
      true,
    );
    if (method === 'GET') expect(operation.requestBody).toBeUndefined();
    for (const { schema, example } of parameters) {
      for (const value of [schema.default, example].filter((one) => one !== undefined)) {
        expect(problems(value, schema, schemas)).toEqual([]);
      }
    }
  });

  test('every reference has a target, and every component is referenced', () => {
    const text = JSON.stringify(document);
    const refs = new Set([...text.matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)].map((m) => `${m[1]}/${m[2]}`));
    const there = (['schemas', 'responses', 'headers'] as const).flatMap((kind) =>
      Object.keys(document.components[kind]).map((name) => `${kind}/${name}`),
    );
    expect([...refs].sort()).toEqual(there.sort());
  });

  test.each(OPERATIONS.map(({ name, object }) => [name, object] as const))(
    'the examples of %s match its schemas, and show every form',
    (_name, operation) => {
      const answers = Object.values(operation.responses).map((one) => ('$ref' in one ? referred(one) : one));
      const callbacks = calledBy(operation).map((one) => one.requestBody);
      for (const { content = {} } of [operation.requestBody ?? {}, ...callbacks, ...answers]) {
        for (const { schema, examples = {} } of Object.values(content)) {
          const values = Object.values(examples).map(({ value }) => value);
          expect(values.length).toBeGreaterThan(0);
          for (const value of values) expect(problems(value, schema, schemas)).toEqual([]);
          for (const form of forms(schema)) {
            expect(values.some((value) => problems(value, form, schemas).length === 0)).toBe(true);
          }
        }
      }
    },
  );

  test('no two paths differ only in the name of a parameter', () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });
});

describe('recorded responses match the document', () => {
  const names = OPERATIONS.map(({ name }) => name);

  test.each([...names.map((name) => [name, name] as const), ['publish', 'publish-url-group'] as const])(
    '%s: %s.json',
    (name, file) => {
      const schema = answerSchema(name);
      const recorded = read(`test/fixtures/wire/${file}.json`);
      // The interface shows no body here: the service sends none.
      if (schema === undefined) expect(recorded).toEqual({});
      else expect(problems(recorded, schema, schemas)).toEqual([]);
    },
  );

  test('the check detects missing, unknown and wrongly typed parts', () => {
    const page = read('test/fixtures/wire/list-logs.json') as { logs: Record<string, unknown>[] };
    const schema = answerSchema('list-logs')!;
    const changed = (change: Record<string, unknown>) => ({ logs: [{ ...page.logs[0], ...change }] });
    expect(problems(changed({ time: 'now' }), schema, schemas)).toEqual(['/logs/0/time must be integer: "now"']);
    expect(problems(changed({ strange: 1 }), schema, schemas)).toEqual([
      '/logs/0 must NOT have additional properties: strange',
    ]);
    expect(problems(changed({ method: 'TRACE' }), schema, schemas)).toHaveLength(1);
    expect(problems({ logs: [{}] }, schema, schemas)).toContain("/logs/0 must have required property 'messageId': {}");
  });
});

describe('headers', () => {
  test.each(['publish', 'trigger', 'resume-workflow-dlq'])('%s names each one that it reads', (name) => {
    const operation = operationOf(name);
    const told = [
      ...(operation.parameters ?? []).filter((one) => one.in === 'header').map((one) => one.name),
      ...(operation['x-forwarded-headers'] ?? []).map((one) => one.prefix),
    ];
    const expected = Object.entries(headerTableOf(name)).map(([header, kind]) =>
      kind === 'forward' ? `Svc-${header}-` : `Svc-${header}`,
    );
    expect(told.sort()).toEqual(expected.sort());
  });
});
