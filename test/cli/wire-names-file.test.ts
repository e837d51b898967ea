/** The file of `opsd emulator --wire-names`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withWireNames } from '../../src/cli/commands/wire-names-file.ts';
import { tempDir } from '../support/temp-dir.ts';

function file(text: string): string {
  const path = join(tempDir(), 'names.yaml');
  writeFileSync(path, text);
  return path;
}

test('its names are options, which those of the command line replace', () => {
  const names = file('headerPrefix: Acme\nproduct: acme\nissuer: Acme Inc\n');
  expect(withWireNames({ product: 'other', control: true }, names)).toEqual({
    'header-prefix': 'Acme',
    product: 'other',
    issuer: 'Acme Inc',
    control: true,
  });
});

test.each([
  ['prefix: Acme', /unknown name prefix; known are headerPrefix, product, issuer/],
  ['headerPrefix: 7', /headerPrefix must be a text/],
  ['', /must have headerPrefix, product, issuer/],
  ['- Acme', /must have headerPrefix, product, issuer/],
  ['headerPrefix: [', /cannot read/],
])('%s is rejected', (text, problem) => {
  expect(() => withWireNames({}, file(text))).toThrow(problem);
});

test('a missing file is rejected', () => {
  expect(() => withWireNames({}, '/nowhere/names.yaml')).toThrow(/cannot read/);
});
