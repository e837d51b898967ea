/** Ledger: one file per subject, with one shared journal. */
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { createAcknowledgments } from './ledger-acknowledgments.ts';
import { createActionReads } from './ledger-actions.ts';
import { createBudgets } from './ledger-budgets.ts';
import { createCampaigns } from './ledger-campaigns.ts';
import { createCaps } from './ledger-caps.ts';
import { createDeadLetters } from './ledger-dead-letters.ts';
import { createHistory } from './ledger-history.ts';
import { createIntents } from './ledger-intents.ts';
import { createJournal, type Journal } from './ledger-journal.ts';
import { createOperations } from './ledger-operations.ts';
import { createPauses } from './ledger-pauses.ts';
import { createPlans } from './ledger-plans.ts';
import { createPolicyState } from './ledger-policy-state.ts';
import { createPrune, type Pruned } from './ledger-retention.ts';
import { createRuns } from './ledger-runs.ts';
import { createTriggers } from './ledger-triggers.ts';
import { createTrust, recordOpening, type Opening } from './ledger-trust.ts';
import { createUsage } from './ledger-usage.ts';
import type { Store } from './sqlite.ts';

export interface SqliteLedger extends Ledger {
  /** Deletes one batch of rows that are older than 400 days and no longer needed. The scheduler calls it. */
  prune(now: number): Promise<Pruned>;
}

/** Opens the ledger of a store, and records the opening in the audit log. */
export async function openLedger(store: Store, audit: AuditLog): Promise<SqliteLedger> {
  const journal = createJournal(store, audit);
  return createLedger(journal, await recordOpening(journal, audit));
}

export function createLedger(journal: Journal, opening: Opening): SqliteLedger {
  const trust = createTrust(journal, opening);
  const caps = createCaps(journal.database.dialect);
  return {
    instance: journal.instance,
    epoch: journal.epoch,
    leaseLost: trust.leaseLost,
    get mustBeAdopted() {
      return trust.mustBeAdopted();
    },
    adopt: trust.adopt,
    ...createRuns(journal),
    ...createIntents(journal, caps, trust),
    ...createHistory(journal),
    ...createBudgets(journal),
    ...createUsage(journal, caps, () => trust.mustBeAdopted()),
    ...createActionReads(journal),
    ...createOperations(journal),
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
