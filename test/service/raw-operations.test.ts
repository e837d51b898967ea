/** The table of operations, compared with the document of the embedded service, which shares no code with it. */
import { describe, expect, test } from 'vitest';
import { headerTableOf, operations, queryTableOf } from '#emulator/openapi/operations.ts';
import { managementSchemas } from '#emulator/openapi/management-schemas.ts';
import { MESSAGE_SCHEMAS } from '#emulator/openapi/message-schemas.ts';
import { OPERATIONS, type Operation } from '#service/operations.ts';

const camel = (header: string): string =>
  (header.charAt(0).toLowerCase() + header.slice(1)).replaceAll(/-([A-Za-z])/g, (_all, letter: string) =>
    letter.toUpperCase(),
  );

const SCHEMAS: Readonly<Record<string, { readonly properties?: object }>> = {
  ...MESSAGE_SCHEMAS,
  ...managementSchemas('msgsvc'),
};

/** Keys whose name is taken by a filter of the same operation. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'resume-workflow-dlq': { label: 'overrideLabel', flowControlKey: 'overrideFlowControlKey' },
};

const keysIn = ({ keys }: Operation, ...places: readonly string[]): string[] =>
  Object.keys(keys)
    .filter((key) => places.includes(keys[key]!.in))
    .toSorted();

test('the operations, their methods and paths are those of the interface', () => {
  const known = operations('{product}').map(({ name, api, method, path }) => ({ name, api, method, path }));
  const own = OPERATIONS.map(({ name, api, method, path }) => ({ name, api, method, path }));
  const byName = <T extends { readonly name: string }>(rows: readonly T[]): T[] =>
    rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(byName(own)).toEqual(byName(known));
  expect(own).toHaveLength(20);
});

describe.each(operations('msgsvc'))('$name', ({ name, pathParameters = {}, body }) => {
  const operation = OPERATIONS.find((one) => one.name === name)!;

  test('has every path parameter', () => {
    expect(keysIn(operation, 'path')).toEqual(Object.keys(pathParameters).toSorted());
  });

  test('has every query parameter', () => {
    expect(keysIn(operation, 'query')).toEqual(Object.keys(queryTableOf(name)).toSorted());
  });

  test('has every header', () => {
    const headers = Object.keys(headerTableOf(name)).map((header) => {
      const key = header === 'Workflow-RunId' ? 'workflowRunId' : camel(header);
      return RENAMED[name]?.[key] ?? key;
    });
    expect(keysIn(operation, 'header')).toEqual(headers.toSorted());
  });

  test('has every field of its body', () => {
    const fields = body !== undefined && 'schema' in body ? Object.keys(SCHEMAS[body.schema]?.properties ?? {}) : [];
    expect(keysIn(operation, 'body')).toEqual([...fields].toSorted());
    expect(keysIn(operation, 'raw')).toEqual(body !== undefined && 'raw' in body ? ['body'] : []);
  });
});
