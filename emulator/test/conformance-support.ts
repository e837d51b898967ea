/**
 * Shared parts of conformance tests: requests with management credentials, and comparison of records with the list of
 * names.
 */
import type { Fields, Kind } from './interface-names.ts';
import type { World } from './world.ts';

export type Json = Readonly<Record<string, unknown>>;

const MANAGER = { Authorization: `Basic ${btoa('ops@example.com:pass:word')}` };

/** Sends a request to the management API. */
export function manage<T = Json>(service: World, method: string, path: string, body?: object) {
  return service.call<T>(method, path, {
    headers: MANAGER,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const POINT_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} \+0000 UTC$/;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const every = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(test);

const isPoint = (value: unknown, ...more: readonly string[]): boolean =>
  isObject(value) &&
  Object.keys(value).length === 2 + more.length &&
  POINT_TIME.test(String(value['x'])) &&
  ['y', ...more].every((name) => typeof value[name] === 'number' && Number.isFinite(value[name]));

const IS_KIND: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
  strings: (value) => every(value, (item) => typeof item === 'string'),
  points: (value) => every(value, (item) => isPoint(item)),
  requestPoints: (value) => every(value, (item) => isPoint(item, 'workflow_message', 'workflow_run')),
  series: (value) =>
    every(
      value,
      (item) =>
        isObject(item) &&
        Object.keys(item).length === 2 &&
        typeof item['id'] === 'string' &&
        every(item['data_points'], (point) => isPoint(point)),
    ),
};

/**
 * Returns one line per difference between records and the list: a field of another kind, a missing field, an unlisted
 * field.
 *
 * @param absent fields that none of these records can have
 */
export function deviations(records: readonly Json[], fields: Fields, absent: readonly string[] = []): string[] {
  const wrong: string[] = [];
  for (const [name, kind] of Object.entries(fields)) {
    const having = records.filter((record) => name in record);
    if (having.length === 0 && !absent.includes(name)) wrong.push(`no record has ${name}`);
    for (const record of having) {
      if (!IS_KIND[kind](record[name])) wrong.push(`${name} is no ${kind}: ${JSON.stringify(record[name])}`);
    }
  }
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return [...wrong, ...[...names].filter((name) => !(name in fields)).map((name) => `${name} is not listed`)];
}
