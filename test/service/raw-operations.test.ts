/** The table of operations, compared with the document of the embedded service, which shares no code with it. */
import { describe, expect, test } from 'vitest';
import { OPERATIONS, type Operation } from '#service/operations.ts';
import { DOCUMENT, headerTableOf, OPERATIONS as DOCUMENTED, parametersIn } from '../support/interface-document.ts';

const camel = (header: string): string =>
  (header.charAt(0).toLowerCase() + header.slice(1)).replaceAll(/-([A-Za-z])/g, (_all, letter: string) =>
    letter.toUpperCase(),
  );

/** Keys whose name is taken by a filter of the same operation. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'resume-workflow-dlq': { label: 'overrideLabel', flowControlKey: 'overrideFlowControlKey' },
};

const keysIn = ({ keys }: Operation, ...places: readonly string[]): string[] =>
  Object.keys(keys)
    .filter((key) => places.includes(keys[key]!.in))
    .toSorted();

test('the operations, their methods and paths are those of the interface', () => {
  const known = DOCUMENTED.map(({ name, api, method, path }) => {
    return { name, api, method, path: path.replace('/msgsvc/', '/{product}/') };
  });
  const own = OPERATIONS.map(({ name, api, method, path }) => ({ name, api, method, path }));
  const byName = <T extends { readonly name: string }>(rows: readonly T[]): T[] =>
    rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(byName(own)).toEqual(byName(known));
  expect(own).toHaveLength(20);
});

describe.each(DOCUMENTED)('$name', (documented) => {
  const { name, object } = documented;
  const operation = OPERATIONS.find((one) => one.name === name)!;

  const namesIn = (place: 'path' | 'query'): readonly string[] =>
    parametersIn(documented, place)
      .map((parameter) => parameter.name)
      .toSorted();

  test('has every path parameter', () => {
    expect(keysIn(operation, 'path')).toEqual(namesIn('path'));
  });

  test('has every query parameter', () => {
    expect(keysIn(operation, 'query')).toEqual(namesIn('query'));
  });

  test('has every header', () => {
    const headers = Object.keys(headerTableOf(name)).map((header) => {
      const key = header === 'Workflow-RunId' ? 'workflowRunId' : camel(header);
      return RENAMED[name]?.[key] ?? key;
    });
    expect(keysIn(operation, 'header')).toEqual(headers.toSorted());
  });

  test('has every field of its body', () => {
    const content = object.requestBody?.content ?? {};
    const schema = content['application/json']?.schema.$ref?.split('/').at(-1);
    const fields = schema === undefined ? {} : (DOCUMENT.components.schemas[schema]!.properties ?? {});
    expect(keysIn(operation, 'body')).toEqual(Object.keys(fields).toSorted());
    const isRaw = schema === undefined && object.requestBody !== undefined;
    expect(keysIn(operation, 'raw')).toEqual(isRaw ? ['body'] : []);
  });
});
