import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, one level at a time. Node's recursive form never returns on file systems
 * that return ENOENT below an existing folder, such as `/proc`.
 *
 * @returns the highest folder that was created; undefined if the folder existed
 */
export function makeFolder(path: string, mode: number): string | undefined {
  const first = makeOne(path, mode);
  if (first !== 'no parent') return first === 'made' ? path : undefined;
  const highest = makeFolder(dirname(path), mode);
  const second = makeOne(path, mode);
  if (second === 'no parent') throw new Error(`ENOENT: no folder can be created in ${dirname(path)}`);
  return highest ?? (second === 'made' ? path : undefined);
}

function makeOne(path: string, mode: number): 'made' | 'there' | 'no parent' {
  try {
    mkdirSync(path, { mode });
    return 'made';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return 'there';
    if (code === 'ENOENT' && dirname(path) !== path) return 'no parent';
    throw error;
  }
}
