/** Files of `policyFiles`, sorted, and faults of patterns without a file. */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { unreadable } from './read-file.ts';
import type { Fault } from './source-text.ts';
import { faultAt, textAt, type Place, type Words } from './yaml-place.ts';

interface PolicyFile {
  /** Absolute path. */
  readonly path: string;
  /** Path as written, with the pattern filled in. */
  readonly written: string;
}

export interface FoundPolicyFiles {
  readonly files: readonly PolicyFile[];
  readonly faults: readonly Fault[];
}

/** @param absolute makes a path of the configuration absolute */
export function findPolicyFiles(list: Place | undefined, absolute: (path: string) => string): FoundPolicyFiles {
  const files = new Map<string, PolicyFile>();
  const faults: Fault[] = [];
  for (const place of (list?.items ?? []).flatMap((item) => textAt(item) ?? [])) {
    const found = match(place.value, absolute);
    faults.push(...(found.faults ?? []).map((words) => faultAt(place, words)));
    // A file matched by two patterns counts once.
    for (const file of found.files ?? []) files.set(file.path, files.get(file.path) ?? file);
  }
  return { files: [...files.values()], faults };
}

/** Files of `opsd test`, which patterns do not match. */
const IS_TEST = /_test\.ya?ml$/;

interface Match {
  readonly files?: readonly PolicyFile[];
  readonly faults?: readonly Words[];
}

function match(pattern: string, absolute: (path: string) => string): Match {
  const folder = dirname(pattern);
  if (folder.includes('*')) {
    const help = 'list each folder on its own line';
    return { faults: [{ message: 'only the last part of a path may contain *', help }] };
  }
  if (!pattern.includes('*')) {
    const path = absolute(pattern);
    const complaint = complaintOf(path);
    return complaint === undefined ? { files: [{ path, written: pattern }] } : { faults: [complaint] };
  }
  const nothing = { message: 'no file matches this pattern', severity: 'warning' as const };
  let names: string[];
  try {
    names = readdirSync(absolute(folder));
  } catch (error) {
    const code = (error as { readonly code?: unknown }).code;
    const message = code === 'ENOENT' ? 'its folder does not exist' : `its folder: ${unreadable(error)}`;
    return { faults: [{ ...nothing, message: `no file matches this pattern: ${message}` }] };
  }
  const wanted = regular(basename(pattern));
  const found = names
    // A mounted ConfigMap keeps its real files in hidden folders next to the links. Tests are next to the policies that
    // they test.
    .filter((name) => !name.startsWith('.') && wanted.test(name) && !IS_TEST.test(name))
    .sort()
    .map((name) => ({ path: absolute(join(folder, name)), written: join(folder, name) }))
    .map((file) => ({ file, complaint: complaintOf(file.path) }))
    .filter(({ complaint }) => complaint?.message !== FOLDER);
  if (found.length === 0) return { faults: [{ ...nothing, help: 'add a policy file, or remove the pattern' }] };
  return {
    files: found.filter(({ complaint }) => complaint === undefined).map(({ file }) => file),
    // Without these files, such as dangling links, their policies would be missing unnoticed.
    faults: found.flatMap(({ file, complaint }) =>
      complaint === undefined
        ? []
        : [{ message: `${file.written}: ${complaint.message}`, help: 'repair the file or link, or remove it' }],
    ),
  };
}

const FOLDER = 'this is a folder';

function complaintOf(path: string): { readonly message: string; readonly help?: string } | undefined {
  try {
    if (!statSync(path).isDirectory()) return undefined;
    return { message: FOLDER, help: 'append /*.yaml for all policies in it' };
  } catch (error) {
    return { message: unreadable(error), help: 'paths are relative to the file that names them' };
  }
}

function regular(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  // bounded: names of files
  return new RegExp(`^${parts.join('.*')}$`);
}
