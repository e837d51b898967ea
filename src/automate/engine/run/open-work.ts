/** Open work in the store that settling announces and continues. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Pause } from '../../ledger/pauses.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { PendingTrigger } from '../../ledger/signals.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { heldTriggers } from './holds.ts';

export interface OpenWork {
  /** Number of unknown outcomes by policy. */
  readonly unknown: ReadonlyMap<string, number>;
  /** Pending and approved plans. */
  readonly plans: readonly StoredPlan[];
  readonly approved: readonly StoredPlan[];
  readonly pauses: readonly Pause[];
  readonly campaigns: readonly Campaign[];
  /** Pending triggers by policy, oldest first. */
  readonly triggers: ReadonlyMap<string, readonly PendingTrigger[]>;
}

export async function readOpenWork({ ledger, clock, policies }: EngineParts): Promise<OpenWork> {
  const [unknown, plans, pauses, campaigns, triggers] = await ledger.view((view) =>
    Promise.all([
      view.unknownOutcomes(),
      view.storedPlans(['pending', 'approved'], clock.now()),
      view.pauses(),
      view.campaigns(),
      heldTriggers(policies, { ledger: view, clock }),
    ]),
  );
  const approved = plans.filter(({ state }) => state === 'approved');
  return { unknown, plans, approved, pauses, campaigns, triggers };
}
