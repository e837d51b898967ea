/**
 * The scripts `prepack` and `postpack` of `npm pack`. The first one builds `dist/` and replaces package.json by that of
 * the package; the second one restores it. If a pack is interrupted between them, `node deploy/package/pack.ts postpack`
 * or git restores package.json.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.ts';
import { packedManifest, type Manifest } from './manifest.ts';

/** Replaces package.json in `root` by that of the package, and keeps the project's beside it. */
export function replaceManifest(root: string): void {
  restoreManifest(root);
  const { path, kept } = placesIn(root);
  copyFileSync(path, kept);
  const packed = packedManifest(manifestAt(path));
  writeFileSync(`${kept}.new`, `${JSON.stringify(packed, undefined, 2)}\n`);
  renameSync(`${kept}.new`, path);
}

/** Restores the project's package.json. If it was restored or changed otherwise, it stays. */
export function restoreManifest(root: string): void {
  const { path, kept } = placesIn(root);
  if (!existsSync(kept)) return;
  if (manifestAt(path)['scripts'] === undefined) renameSync(kept, path);
  else rmSync(kept);
}

function placesIn(root: string): { readonly path: string; readonly kept: string } {
  return { path: join(root, 'package.json'), kept: join(root, '.package.json.kept') };
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../..');
  if (process.argv[2] === 'prepack') {
    await build(join(root, 'dist'));
    replaceManifest(root);
  } else {
    restoreManifest(root);
  }
}
