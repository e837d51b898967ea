/**
 * Change detection for the files of a configuration, by their contents: a mounted ConfigMap is replaced as a whole, by
 * a link, so its times prove nothing. It includes web configuration files with their certificates and keys. It excludes
 * other files of secrets, which their users read again.
 */
import { createHash, type Hash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { findPolicyFiles } from './policy-files.ts';
import { readText } from './read-file.ts';
import { filesOfWebConfig } from './web-material.ts';
import { readPlaces } from './yaml-file.ts';
import { placeAt, type Place } from './yaml-place.ts';

type Parsed = (text: string) => Place | undefined;

/** @returns a function that hashes the current contents: `Config.contents`, if they are valid. Never throws */
export function contentsOf(path: string, env: Readonly<Record<string, string | undefined>>): () => string {
  const absolute = (file: string): string => resolve(dirname(resolve(path)), file);
  const rootOf = lastParsed((text) => readPlaces(text, { env }));
  const listeners = ['server', 'hooks'].map((room) => ({
    room,
    rootOf: lastParsed((text) => readPlaces(text, { env: {}, isPlain: true })),
  }));

  return () => {
    const hash = createHash('sha256');
    const text = add(hash, path);
    if (text === undefined) return hash.digest('hex');
    const root = rootOf(text);
    const patterns = root && placeAt(root, ['policyFiles']);
    for (const file of findPolicyFiles(patterns, absolute).files) add(hash, file.path);
    for (const listener of listeners) {
      const written = root && placeAt(root, [listener.room, 'webConfigFile'])?.value;
      if (typeof written !== 'string' || written === '') continue;
      const web = absolute(written);
      const webRoot = listener.rootOf(add(hash, web) ?? '');
      for (const file of filesOfWebConfig(webRoot)) add(hash, resolve(dirname(web), file));
    }
    return hash.digest('hex');
  };
}

/** Parser that parses a text again only if it differs from the previous one. */
function lastParsed(parse: Parsed): Parsed {
  let last: { readonly text: string; readonly root: Place | undefined } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, root: parse(text) };
    return last.root;
  };
}

/** Adds a file to the hash. The hash of an unreadable file is that of its error. */
function add(hash: Hash, path: string): string | undefined {
  try {
    const text = readText(path);
    hash.update(`${text.length}\n`).update(text);
    return text;
  } catch (error) {
    hash.update(`${(error as NodeJS.ErrnoException).code}\n`);
    return undefined;
  }
}
