/** Path of the store in a configuration that is not checked: that of a running daemon, or an invalid one. */
import { dirname, resolve } from 'node:path';
import { DEFAULT_STORE_PATH } from '#foundation/platform/socket-path.ts';
import { readSource } from './read-file.ts';
import { SourceText } from './source-text.ts';
import { readYaml } from './yaml-file.ts';
import { placeAt } from './yaml-place.ts';

/** Path as far as the file is readable, else the default. */
export function storePathOf(file: string, env: Readonly<Record<string, string | undefined>>): string {
  const read = readSource(file, file);
  // No line of it is shown, so that the search for its secrets is left out: 3 ms of each command.
  const source = new SourceText(file, read.source.text, false);
  const root = read.ok ? readYaml({ source, env }).root : undefined;
  const written = root && placeAt(root, ['storage', 'sqlite', 'path'])?.value;
  const path = typeof written === 'string' && written !== '' ? written : env['OPSD_STORE'];
  return resolve(dirname(file), path || DEFAULT_STORE_PATH);
}
