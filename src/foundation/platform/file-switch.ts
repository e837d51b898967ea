import { lstatSync, statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Returns why a file switch is set; undefined if the file does not exist. A dangling link counts as set, and so does
 * every error other than "no such file". A stop switch must not fail open.
 */
export function fileSwitch(path: string): string | undefined {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return `${path} exists`;
    const link = danglingParent(path);
    return link && `${path} cannot be checked: ${link} is a dangling link`;
  } catch (error) {
    return `${path} cannot be checked (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
  }
}

/** Returns the dangling link that prevents access to a file. */
function danglingParent(path: string): string | undefined {
  const folder = dirname(path);
  const entry: Stats | undefined = lstatSync(folder, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() === true && statSync(folder, { throwIfNoEntry: false }) === undefined) return folder;
  return entry !== undefined || folder === path ? undefined : danglingParent(folder);
}
