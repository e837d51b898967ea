/**
 * What of a configuration decides what policies do, as one hash: of a configuration that cannot be used, too. By it a
 * reload that failed tells whether somebody meant to change a policy.
 */
import { createHash } from 'node:crypto';
import type { YamlFile } from './yaml-file.ts';
import type { Place } from './yaml-place.ts';

/** What cannot change what a policy does. Any other key counts, those that are no keys too: one may be a typo in a stop. */
const APART: ReadonlySet<string> = new Set(['version', 'server', 'storage', 'telemetry', 'notifications', 'log']);

/**
 * @param texts contents of the files of policies, in order; undefined for one that cannot be read
 * @returns undefined when it cannot be told, which is like no other
 */
export function policyPart(main: YamlFile, texts: readonly (string | undefined)[]): string | undefined {
  // Behind a break in the grammar anything may have been meant.
  if (main.root === undefined || main.brokenAt !== Infinity) return undefined;
  const hash = createHash('sha256');
  const entries = [...(main.root.entries ?? [])].filter(([key]) => !APART.has(key));
  for (const [key, place] of entries.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${JSON.stringify(key)}${JSON.stringify(plain(place))}\n`);
  }
  for (const text of texts) {
    if (text === undefined) return undefined;
    hash.update(`${text.length}\n`).update(text);
  }
  return hash.digest('hex');
}

function plain(place: Place): unknown {
  if (place.entries !== undefined) return [...place.entries].map(([key, inner]) => [key, plain(inner)]);
  return place.items?.map(plain) ?? place.value ?? null;
}
