/** Check of each commit about accounts: the replica that commits owns them. */
import { Violation } from '../violation.ts';
import type { Batch, Connection } from './connection.ts';
import type { Session } from './session.ts';

/** First statement of a transaction about accounts, with their names. */
const FENCED = /FROM leases WHERE account = ANY \(\$1\) FOR SHARE.*\{("[^}]*")\}/s;

/** Returns the accounts that a transaction is about, if this statement names them. */
export function fencedBy({ bytes }: Batch): readonly string[] | undefined {
  if (!bytes.includes('FOR SHARE')) return undefined;
  return JSON.parse(`[${FENCED.exec(bytes.toString('latin1'))![1]}]`) as readonly string[];
}

/** @param owner id in a lease: the name of a replica before a slash, or null */
export function isOwner(replica: string, owner: unknown): boolean {
  return String(owner).startsWith(`${replica}/`);
}

/**
 * Returns the violation of a commit about accounts of another replica; undefined if there are none. A replica may still
 * commit about an account that it has just given up.
 */
export function foreignCommit(session: Session, { accounts, replica }: Connection): Violation | undefined {
  if (accounts.length === 0) return undefined;
  const leases = session.rows('SELECT account, owner, epoch FROM leases WHERE owner IS NOT NULL');
  const lost = leases.filter(({ account, owner }) => accounts.includes(String(account)) && !isOwner(replica, owner));
  if (lost.length === 0) return undefined;
  return new Violation('only the owner of an account commits about it', { replica, lost });
}
