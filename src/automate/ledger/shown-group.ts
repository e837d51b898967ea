/** Display of a group, whose name is often a URL. */
import { redact } from '#foundation/domain/redact.ts';
import { standIn } from './audit-chain.ts';

/** Name of a group without possible secrets. A short hash replaces them, so that two groups never look the same. */
export function shownGroup(group: string): string {
  const bare = redact(group);
  return bare === group ? group : `${bare} (${standIn(group)})`;
}

/** Key of the condition for a halted group. */
export function haltKey(policy: string, group: string): `halted/${string}` {
  return `halted/${policy}/${shownGroup(group)}`;
}
