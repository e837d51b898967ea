/** Where the store is, by a configuration that cannot be used: a daemon may still run on the one before. */
import { dirname, resolve } from 'node:path';
import { storageSettings } from '#storage/settings.ts';
import { readSource } from './read-file.ts';
import { readYaml } from './yaml-file.ts';
import { placeAt } from './yaml-place.ts';

/** As far as the file can be read; where it tells nothing, what holds for a silent one. */
export function storePathOf(file: string, env: Readonly<Record<string, string | undefined>>): string {
  const read = readSource(file, file);
  const root = read.ok ? readYaml({ source: read.source, env }).root : undefined;
  const written = root && placeAt(root, ['storage', 'sqlite', 'path'])?.value;
  const path = typeof written === 'string' && written !== '' ? written : env['OPSD_STORE'];
  return resolve(dirname(file), path || storageSettings.parse({}).sqlite.path);
}
