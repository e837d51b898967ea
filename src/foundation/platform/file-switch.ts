import { lstatSync, statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Returns why a switch made of a file is set; undefined while there is no such file. A link that leads nowhere is set,
 * and so is everything that is not a plain "no such file": a switch that stops must not fail open.
 */
export function fileSwitch(path: string): string | undefined {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return `${path} exists`;
    const link = danglingParent(path);
    return link && `${path} cannot be looked at: ${link} is a link that leads nowhere`;
  } catch (error) {
    return `${path} cannot be looked at (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
  }
}

/** The link that keeps a file from being found. */
function danglingParent(path: string): string | undefined {
  const folder = dirname(path);
  const entry: Stats | undefined = lstatSync(folder, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() === true && statSync(folder, { throwIfNoEntry: false }) === undefined) return folder;
  return entry !== undefined || folder === path ? undefined : danglingParent(folder);
}
