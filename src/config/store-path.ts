/** Path of the store in a configuration that is not checked: that of a running daemon, or an invalid one. */
import { dirname, resolve } from 'node:path';
import { DEFAULT_STORE_PATH } from '#foundation/platform/socket-path.ts';
import { readSource } from './read-file.ts';
import { readPlaces } from './yaml-file.ts';
import { placeAt } from './yaml-place.ts';

/** Path as far as the file is readable, else the default. */
export function storePathOf(file: string, env: Readonly<Record<string, string | undefined>>): string {
  const read = readSource(file, file);
  const root = read.ok ? readPlaces(read.source.text, { env }) : undefined;
  const written = root && placeAt(root, ['storage', 'sqlite', 'path'])?.value;
  const path = typeof written === 'string' && written !== '' ? written : env['OPSD_STORE'];
  return resolve(dirname(file), path || DEFAULT_STORE_PATH);
}
