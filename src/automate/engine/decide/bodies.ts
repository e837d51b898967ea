/** Bodies of dead letters that a decision reads. */
import type { KeptBodies } from '../../ledger/kept-bodies.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Returns what is known about the bodies of these letters: their size, or why they cannot be used. */
export async function bodiesOf(
  account: string,
  letters: readonly { readonly dlqId: string }[],
  { bodies, ledger }: Pick<EngineDeps, 'bodies' | 'ledger'>,
): ReturnType<KeptBodies['states']> {
  const ids = letters.map(({ dlqId }) => dlqId);
  return bodies === undefined || ids.length === 0 ? new Map() : bodies.states(account, ids, ledger);
}
