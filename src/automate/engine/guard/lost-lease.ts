/** Failures that follow from a lost lease: the replica that owns the account does the work. */
import type { Trust } from '../../ledger/trust.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Returns why another replica may own the account now; undefined if none does, or if there is no other replica. */
export async function lostLease(
  account: string,
  { ledger, shared }: Pick<EngineDeps<Trust>, 'ledger' | 'shared'>,
): Promise<string | undefined> {
  if (shared === undefined) return undefined;
  return ledger.leaseLost(account).catch(() => undefined);
}
