/** Ledger: one file per subject, with one shared journal. */
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { createAcknowledgments } from './ledger-acknowledgments.ts';
import { createActionReads } from './ledger-actions.ts';
import { createBodies } from './ledger-bodies.ts';
import { createBudgets } from './ledger-budgets.ts';
import { createCampaigns } from './ledger-campaigns.ts';
import { createCaps, type Caps } from './ledger-caps.ts';
import { createCounters } from './ledger-counters.ts';
import { createDeadLetters } from './ledger-dead-letters.ts';
import { createDeploys } from './ledger-deploys.ts';
import { createHistory } from './ledger-history.ts';
import { createIntents } from './ledger-intents.ts';
import { createJournal, type Journal } from './ledger-journal.ts';
import { createOperations } from './ledger-operations.ts';
import { createPauses } from './ledger-pauses.ts';
import { createPlans } from './ledger-plans.ts';
import { createPolicyState } from './ledger-policy-state.ts';
import { createPrune, type Pruned } from './ledger-retention.ts';
import { createRuns } from './ledger-runs.ts';
import { createTimeline } from './ledger-timeline.ts';
import { createTriggers } from './ledger-triggers.ts';
import { createTrust, recordOpening, type Opening, type StoreTrust } from './ledger-trust.ts';
import { createUsage } from './ledger-usage.ts';
import type { Store } from './sqlite.ts';

export interface SqliteLedger extends Ledger {
  /** Deletes one batch of rows that are older than 400 days and no longer needed. The scheduler calls it. */
  prune(now: number): Promise<Pruned>;
  within(accounts: readonly string[]): SqliteLedger;
  view<T>(use: (ledger: SqliteLedger) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Opens the ledger of a store, and records the opening in the audit log. */
export async function openLedger(store: Store, audit: AuditLog): Promise<SqliteLedger> {
  const journal = createJournal(store, audit);
  return createLedger(journal, await recordOpening(journal, audit));
}

export function createLedger(journal: Journal, opening: Opening): SqliteLedger {
  const parts = { journal, trust: createTrust(journal, opening), caps: createCaps(journal.database.dialect) };
  return ledgerOf(parts, () => true);
}

interface Parts {
  readonly journal: Journal;
  readonly trust: StoreTrust;
  readonly caps: Caps;
}

/** @param isOwn returns true for the accounts on which the caller of the ledger acts */
function ledgerOf(parts: Parts, isOwn: (account: string) => boolean): SqliteLedger {
  const { journal, trust, caps } = parts;
  return {
    instance: journal.instance,
    epoch: journal.epoch,
    leaseLost: trust.leaseLostIn(journal.database),
    get mustBeAdopted() {
      return trust.mustBeAdopted();
    },
    adopt: trust.adopt,
    ...createRuns(journal),
    ...createIntents(journal, { caps, trust, isOwn }),
    ...createHistory(journal),
    ...createBudgets(journal),
    ...createUsage(journal, caps, () => trust.mustBeAdopted()),
    ...createActionReads(journal, isOwn),
    ...createOperations(journal, isOwn),
    ...createPauses(journal),
    ...createCampaigns(journal, isOwn),
    ...createPlans(journal, isOwn),
    ...createTriggers(journal),
    ...createDeadLetters(journal),
    ...createBodies(journal),
    ...createDeploys(journal),
    ...createPolicyState(journal),
    ...createAcknowledgments(journal),
    ...createCounters(journal),
    ...createTimeline(journal),
    prune: createPrune(journal),
    within(accounts) {
      const own = new Set(accounts);
      return ledgerOf(parts, (account) => own.has(account));
    },
    view: (use, signal) =>
      journal.database.view(
        (database) => use(ledgerOf({ ...parts, journal: { ...journal, database } }, isOwn)),
        signal,
      ),
  };
}
