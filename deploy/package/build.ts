/** `npm run build [-- FOLDER]`: writes the bundle, the types, and the licenses of its packages to `dist/` or FOLDER. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeBundle } from './bundle.ts';
import { licensesText, thirdPartiesOf, type ThirdParty } from './third-party.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Replaces the folder. Returns the packages in the bundle. */
export async function build(folder: string): Promise<readonly ThirdParty[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { packageFiles } = await writeBundle(folder);
  // Not bundled: the bundler would add a word that old Nodes do not parse.
  const first = source('src/opsd.js').replace(
    "import('./main.ts')",
    "import('./load.js').then(({ start }) => start())",
  );
  writeFileSync(join(folder, 'opsd.js'), first, { mode: 0o755 });
  writeFileSync(join(folder, 'load.js'), source('deploy/package/load.js'));
  writeFileSync(join(folder, 'emulator.cjs'), source('deploy/package/emulator.cjs'));
  // Modules and CommonJS share the parts of the library.
  writeFileSync(join(folder, 'emulator.js'), "export { startEmulator } from './emulator.cjs';\n");
  for (const name of ['emulator.d.ts', 'emulator.d.cts']) writeFileSync(join(folder, name), libraryTypes());
  const packages = thirdPartiesOf(packageFiles);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licensesText(packages));
  return packages;
}

/** Returns the library's declarations: its public types, which import nothing, and its function. */
function libraryTypes(): string {
  const types = source('emulator/src/types/public.ts');
  return `/// <reference lib="esnext.disposable" />\n${types}\nexport declare const startEmulator: StartEmulator;\n`;
}

function source(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

if (import.meta.main) {
  await build(resolve(process.argv[2] ?? join(ROOT, 'dist')));
}
