/** Rendezvous hashing: each account goes to one replica, and moves only if that one comes or goes. */
import { createHash } from 'node:crypto';

export interface RankedReplica {
  /** Identity of the process. */
  readonly id: string;
  /** Name of the replica, which a restarted process has again. */
  readonly name: string;
}

/** Returns the id of the replica that should own an account; undefined without replicas. */
export function replicaFor(account: string, replicas: readonly RankedReplica[]): string | undefined {
  let best: { readonly id: string; readonly rank: string } | undefined;
  for (const { id, name } of replicas) {
    // Processes with the same name have the same hash, and differ by their id.
    const rank = `${createHash('sha256').update(`${name}\0${account}`).digest('hex')} ${id}`;
    if (best === undefined || rank > best.rank) best = { id, rank };
  }
  return best?.id;
}
