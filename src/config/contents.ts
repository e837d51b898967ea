/**
 * Whether the files of a configuration read otherwise than before: by their contents, since a mounted ConfigMap is
 * swapped as a whole, by a link, and its times tell nothing. Files of secrets are not among them: they are read anew by
 * those who use them.
 */
import { createHash, type Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { findPolicyFiles } from './policy-files.ts';
import { SourceText } from './source-text.ts';
import { readYaml } from './yaml-file.ts';
import { placeAt, type Place } from './yaml-place.ts';

/** @returns a function that hashes what the files hold when it is called: `Config.hash`, where that can be. Never throws */
export function contentsOf(path: string, env: Readonly<Record<string, string | undefined>>): () => string {
  const absolute = (file: string): string => resolve(dirname(resolve(path)), file);
  let parsed: { readonly text: string; readonly patterns: Place | undefined } | undefined;

  return () => {
    const hash = createHash('sha256');
    const text = add(hash, path);
    if (text === undefined) return hash.digest('hex');
    if (parsed?.text !== text) parsed = { text, patterns: patternsOf(new SourceText(path, text), env) };
    for (const file of findPolicyFiles(parsed.patterns, absolute).files) {
      add(hash, file.path);
    }
    return hash.digest('hex');
  };
}

function patternsOf(source: SourceText, env: Readonly<Record<string, string | undefined>>): Place | undefined {
  const { root } = readYaml({ source, env });
  return root === undefined ? undefined : placeAt(root, ['policyFiles']);
}

/** A file that cannot be read is told apart by why. */
function add(hash: Hash, path: string): string | undefined {
  try {
    const text = new TextDecoder('utf-8').decode(readFileSync(path));
    hash.update(`${text.length}\n`).update(text);
    return text;
  } catch (error) {
    hash.update(`${(error as NodeJS.ErrnoException).code}\n`);
    return undefined;
  }
}
