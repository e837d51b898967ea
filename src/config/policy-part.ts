/**
 * Hash of everything in a configuration that decides what policies do, also for an invalid configuration. It shows
 * whether a failed reload may concern policies.
 */
import { createHash } from 'node:crypto';
import type { YamlFile } from './yaml-file.ts';
import type { Place } from './yaml-place.ts';

/** Keys that cannot change what a policy does. All other keys count, also unknown ones: one may be a typo in a stop. */
const APART: ReadonlySet<string> = new Set(['version', 'server', 'storage', 'telemetry', 'notifications', 'log']);

/**
 * @param texts contents of the policy files, in order; undefined for an unreadable one
 * @returns undefined if unknown, which differs from every hash
 */
export function policyPart(main: YamlFile, texts: readonly (string | undefined)[]): string | undefined {
  // After a syntax error, the intended meaning is unknown.
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
