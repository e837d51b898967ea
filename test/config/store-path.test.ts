/** Path of the store in a configuration that is not checked. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { SourceText } from '#config/source-text.ts';
import { storePathOf } from '#config/store-path.ts';
import { readYaml } from '#config/yaml-file.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Writes a configuration, and returns its path. */
function written(text: string): string {
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(file, text);
  return file;
}

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
  expect(storePathOf(written(text), { PLACE: '/mnt' })).toBe(expected);
});

test('without a path, OPSD_STORE, and then the default, both relative to the file', () => {
  const file = written('storage: { sqlite: { path: ~ } }');
  expect(storePathOf(file, { OPSD_STORE: 'own.db' })).toBe(join(dirname(file), 'own.db'));
  expect(storePathOf(file, {})).toBe(join(dirname(file), 'data/opsd.db'));
});

test('a source without excerpts never shows a line, since its secrets are not masked', () => {
  const text = 'token: canary-secret\ntoken: canary-secret\n';
  const [masked, unmasked] = [true, false].map((hasExcerpts) => {
    const source = new SourceText('opsd.yaml', text, hasExcerpts);
    return readYaml({ source, env: {} }).faults.map((fault) => source.problem(fault));
  });
  expect(masked).toMatchObject([{ line: 2, excerpt: { text: 'token: ***' } }]);
  expect(unmasked).toMatchObject([{ line: 2, message: masked![0]!.message }]);
  expect(unmasked![0]!.excerpt).toBeUndefined();
});
