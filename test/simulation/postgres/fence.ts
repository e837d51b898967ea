/** Check of each commit about accounts: the replica that commits owns them. */
import { Violation } from '../violation.ts';
import type { Batch } from './connection.ts';
import type { Session } from './session.ts';

/** First statement of a transaction about accounts, with their names. */
const FENCED = /FROM leases WHERE account = ANY \(\$1\) FOR SHARE.*\{("[^}]*")\}/s;

/** Returns the accounts that a transaction is about, if this statement names them. */
export function fencedBy({ bytes }: Batch): readonly string[] | undefined {
  if (!bytes.includes('FOR SHARE')) return undefined;
  return JSON.parse(`[${FENCED.exec(bytes.toString('latin1'))![1]}]`) as readonly string[];
}

/** @throws {Violation} if another replica owns one of the accounts. One that gives an account up may still commit. */
export function checkOwner(session: Session, accounts: readonly string[], replica: string): void {
  if (accounts.length === 0) return;
  const leases = session.rows('SELECT account, owner, epoch FROM leases WHERE owner IS NOT NULL');
  const own = (owner: unknown): boolean => String(owner).startsWith(`${replica}/`);
  const lost = leases.filter(({ account, owner }) => accounts.includes(String(account)) && !own(owner));
  if (lost.length > 0) throw new Violation('only the owner of an account commits about it', { replica, lost });
}
