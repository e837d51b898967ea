/** A ConfigMap or Secret as the kubelet mounts it: links to a hidden folder, which is replaced atomically. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns a function that replaces all files: a whole update of the object */
export function mountedVolume(folder: string): (files: Readonly<Record<string, string>>) => void {
  let updates = 0;
  let shown: string[] = [];
  mkdirSync(folder, { recursive: true });
  return (files) => {
    const before = `..2026_${updates++}`;
    const now = `..2026_${updates}`;
    mkdirSync(join(folder, now));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, now, name), text);
    symlinkSync(now, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    for (const name of Object.keys(files))
      if (!shown.includes(name)) symlinkSync(join('..data', name), join(folder, name));
    for (const name of shown) if (!(name in files)) rmSync(join(folder, name));
    rmSync(join(folder, before), { recursive: true, force: true });
    shown = Object.keys(files);
  };
}
