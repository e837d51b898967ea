import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('creates the missing folders, with their mode, and names the highest one that it created', () => {
  const dir = tempDir();
  expect(makeFolder(join(dir, 'a/b/c'), 0o700)).toBe(join(dir, 'a'));
  expect(statSync(join(dir, 'a/b/c')).mode & 0o777).toBe(0o700);
  expect(makeFolder(join(dir, 'a/b'), 0o700)).toBeUndefined();
});

// Node's own recursive form never returns here.
test('fails where no folder can be created', () => {
  expect(() => makeFolder('/proc/none/deeper', 0o700)).toThrow(/^ENOENT: no folder can be created in \/proc/);
});
