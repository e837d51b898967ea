/** The bundle of the package, which the system tests run: it starts with half the CPU of the sources. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../../deploy/package/build.ts';

export async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'opsd-bundle-'));
  await build(folder);
  process.env['OPSD_TEST_PROGRAM'] = join(folder, 'opsd.js');
  return () => rmSync(folder, { recursive: true, force: true });
}
