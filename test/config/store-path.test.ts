/** Path of the store in a configuration that is not checked. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SourceText } from '#config/source-text.ts';
import { storePathOf } from '#config/store-path.ts';
import { readYaml } from '#config/yaml-file.ts';

let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'opsd-store-path-'));
  file = join(folder, 'opsd.yaml');
});

afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['a written path', 'storage: { sqlite: { path: /var/a.db } }', '/var/a.db'],
  ['an alias', 'x: &at /var/b.db\nstorage: { sqlite: { path: *at } }', '/var/b.db'],
  ['a merged section', 'x: &base { path: /var/c.db }\nstorage: { sqlite: { <<: *base } }', '/var/c.db'],
  ['a variable', 'storage: { sqlite: { path: "${env:PLACE}/d.db" } }', '/mnt/d.db'],
  ['a path below secrets', 'token: s3cr3t\nstorage: { sqlite: { path: /var/e.db } }\ntokenFile: s3cr3t', '/var/e.db'],
  [
    'the first of two',
    'storage: { sqlite: { path: /var/f.db } }\nstorage: { sqlite: { path: /var/g.db } }',
    '/var/f.db',
  ],
])('%s', (_name, text, expected) => {
  writeFileSync(file, text);
  expect(storePathOf(file, { PLACE: '/mnt' })).toBe(expected);
});

test('without a path, OPSD_STORE, and then the default, both relative to the file', () => {
  writeFileSync(file, 'storage: { sqlite: { path: ~ } }');
  expect(storePathOf(file, { OPSD_STORE: 'own.db' })).toBe(join(folder, 'own.db'));
  expect(storePathOf(file, {})).toBe(join(folder, 'data/opsd.db'));
});

test('a source without excerpts never shows a line, since its secrets are not masked', () => {
  const text = 'token: canary-secret\ntoken: canary-secret\n';
  const [masked, unmasked] = [true, false].map((hasExcerpts) => {
    const source = new SourceText('opsd.yaml', text, hasExcerpts);
    return readYaml({ source, env: {} }).faults.map((fault) => source.problem(fault));
  });
  expect(masked).toMatchObject([{ line: 2, excerpt: { text: 'token: ***' } }]);
  expect(unmasked).toMatchObject([{ line: 2, message: masked![0]!.message }]);
  expect(unmasked![0]).not.toHaveProperty('excerpt');
});
