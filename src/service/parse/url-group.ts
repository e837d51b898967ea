/** Parses URL Groups (interface 2.1). */
import type { UrlGroup } from '#foundation/domain/observation.ts';
import { LONGEST_TEXT, optionalText, parseJson, requireText, rowsOf, type Drops, type JsonObject } from './reader.ts';
import { optionalTime } from './time.ts';

export function parseUrlGroups(body: Buffer, drops: Drops): readonly UrlGroup[] {
  return rowsOf(drops, parseJson(body), { what: 'groups', parse: (row) => parseGroup(row, drops) });
}

function parseGroup(row: JsonObject, drops: Drops): UrlGroup {
  return {
    name: requireText(row, 'name'),
    createdAt: optionalTime(row, 'createdAt'),
    updatedAt: optionalTime(row, 'updatedAt'),
    endpoints: rowsOf(drops, row['endpoints'] ?? null, {
      what: 'endpoints',
      parse: (endpoint) => ({
        name: optionalText(endpoint, 'name'),
        url: requireText(endpoint, 'url', LONGEST_TEXT),
      }),
    }),
  };
}
