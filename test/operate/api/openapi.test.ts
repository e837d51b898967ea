/** The API's document and its routes describe the same API. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageVersion } from '#foundation/platform/package-version.ts';
import { apiDocument } from '#operate/contract/document.ts';
import { GROUPS } from '#operate/contract/index.ts';
import { API_ROUTES } from '#operate/api/routes.ts';
import { documentProblems, type Described } from '../../support/api-document.ts';
import { ask, NOW, serving, world } from '../http/world.ts';

const DOCUMENT = apiDocument(packageVersion());
const COPY = join(import.meta.dirname, '../../../docs/api.openapi.json');

const operations = Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods));

test('every route of the contract has a handler', () => {
  const handled = API_ROUTES.map(({ method, path }) => `${method} ${path}`);
  const stated = GROUPS.flatMap(({ routes }): readonly { readonly key: string }[] => routes).map(({ key }) => key);
  expect(handled.toSorted()).toEqual(stated.toSorted());
});

test('every operation has a tag that is described, and a description', () => {
  const tags = DOCUMENT.tags.map(({ name }) => name);
  for (const { operationId, tags: own, description } of operations) {
    expect(own, operationId).toHaveLength(1);
    expect(tags, operationId).toContain(own[0]);
    expect(description, operationId).not.toBe('');
  }
  expect(new Set(operations.flatMap(({ tags: own }) => own))).toEqual(new Set(tags));
});

test('operations have different ids, and every reference leads to a part that is used', () => {
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const text = JSON.stringify(DOCUMENT);
  const references = new Set([...text.matchAll(/"\$ref":"#\/components\/(\w+\/\w+)"/g)].map((match) => match[1]!));
  const parts = (['schemas', 'responses'] as const).flatMap((kind) =>
    Object.keys(DOCUMENT.components[kind]).map((name) => `${kind}/${name}`),
  );
  expect([...references].toSorted()).toEqual(parts.toSorted());
});

test('a command has a body, and a parameter of the path is declared', () => {
  const bodiless = ['reload', 'callOperation'];
  for (const [path, methods] of Object.entries(DOCUMENT.paths)) {
    for (const [method, { operationId, requestBody, parameters = [] }] of Object.entries(methods)) {
      expect(requestBody !== undefined, operationId).toBe(method === 'post' && !bodiless.includes(operationId));
      const declared = parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
      expect(path.match(/\{\w+\}/g) ?? [], operationId).toEqual(declared);
    }
  }
});

test('the copy in docs is current: npm run openapi', () => {
  expect(JSON.parse(readFileSync(COPY, 'utf8'))).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
});

test('the daemon serves the document with its version, unredacted', async () => {
  const { address } = await serving(world({ version: '9.9.9' }));
  const { status, text } = await ask(address, '/api/v1/openapi.json');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({
    ...(JSON.parse(JSON.stringify(DOCUMENT)) as object),
    info: { ...DOCUMENT.info, version: '9.9.9' },
  });
});

describe('the comparison with responses', () => {
  const described = (path: string, body: unknown, status = 200): Described => ({
    method: 'GET',
    path,
    status,
    body: JSON.stringify(body),
  });

  test.each([
    ['a right response', described('/api/v1/labels', { at: NOW, labels: [] }), false],
    ['a missing field', described('/api/v1/labels', { labels: [] }), true],
    ['an additional field', described('/api/v1/labels', { at: NOW, labels: [], more: 1 }), true],
    ['a wrong type', described('/api/v1/labels', { at: 'now', labels: [] }), true],
    ['an unknown address', described('/api/v1/nothing', {}), true],
    ['an error', described('/api/v1/plans/x', { error: { code: 'unknown_plan', message: 'm' } }, 404), false],
    ['an undocumented status', described('/api/v1/labels', { error: { code: 'c', message: 'm' } }, 409), true],
  ])('finds %s', (_what, answer, isWrong) => {
    expect(documentProblems(DOCUMENT, answer).length > 0).toBe(isWrong);
  });
});
