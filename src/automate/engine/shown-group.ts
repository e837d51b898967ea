/** How people and logs are told of a group, which is often named by a URL. */
import { redact } from '#foundation/domain/redact.ts';
import { standIn } from '../ledger/audit-chain.ts';

/** Without what may be secret; what is left out has a stand-in, so that two groups are never told of as one. */
export function shownGroup(group: string): string {
  const bare = redact(group);
  return bare === group ? group : `${bare} (${standIn(group)})`;
}

/** Names the condition that a group is halted. */
export function haltKey(policy: string, group: string): string {
  return `halted/${policy}/${shownGroup(group)}`;
}
