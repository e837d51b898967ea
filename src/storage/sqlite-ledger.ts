/** Ledger on SQLite: one file per subject, with one shared journal. */
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { createAcknowledgments } from './ledger-acknowledgments.ts';
import { createActionReads } from './ledger-actions.ts';
import { createCampaigns } from './ledger-campaigns.ts';
import { createCaps } from './ledger-caps.ts';
import { createDeadLetters } from './ledger-dead-letters.ts';
import { createIntents } from './ledger-intents.ts';
import { createJournal } from './ledger-journal.ts';
import { createOperationClaims, createOperations } from './ledger-operations.ts';
import { createPauses } from './ledger-pauses.ts';
import { createPlans } from './ledger-plans.ts';
import { createPolicyState } from './ledger-policy-state.ts';
import { createPrune, type Pruned } from './ledger-retention.ts';
import { createRuns } from './ledger-runs.ts';
import { createTriggers } from './ledger-triggers.ts';
import { createTrust } from './ledger-trust.ts';
import type { Store } from './sqlite.ts';

export interface SqliteLedger extends Ledger {
  /** Deletes one batch of rows that are older than 400 days and no longer needed. The scheduler calls it. */
  prune(now: number): Pruned;
}

export function createLedger(store: Store, audit: AuditLog): SqliteLedger {
  const journal = createJournal(store, audit);
  const trust = createTrust(journal, audit);
  const caps = createCaps(store.db);
  const claims = createOperationClaims(journal);
  const reads = createActionReads(journal);
  const operations = createOperations(journal);
  return {
    instance: store.instance,
    epoch: store.epoch,
    leaseLost: trust.leaseLost,
    get mustBeAdopted() {
      return trust.mustBeAdopted();
    },
    adopt: trust.adopt,
    ...createRuns(journal),
    ...createIntents(journal, caps, { authority: trust, operations: claims }),
    ...reads,
    ...operations,
    budgetChanges: (account, since) =>
      [...reads.raises(account, since), ...operations.budgetsByOperators(account, since)].toSorted(
        (a, b) => a.at - b.at,
      ),
    // Until an operator adopts the store, actions that it does not have may have used up every window.
    used: (scope, since) => (trust.mustBeAdopted() === undefined ? caps.used(scope, since) : Number.MAX_SAFE_INTEGER),
    ...createPauses(journal),
    ...createCampaigns(journal),
    ...createPlans(journal),
    ...createTriggers(journal),
    ...createDeadLetters(journal),
    ...createPolicyState(journal),
    ...createAcknowledgments(journal),
    prune: createPrune(journal),
  };
}
