/**
 * Ledger: the append-only record of the daemon's actions. No effect without a durable intent. No target is acted on
 * twice, unless the first request provably had no effect. The same transaction writes each change of state to the audit
 * log; if that fails, the change does not happen. Times are epoch milliseconds.
 */
import type { Acknowledgments } from './acknowledgments.ts';
import type { Counters } from './counters.ts';
import type { Campaigns } from './campaigns.ts';
import type { DeployInbox, Deploys } from './deploys.ts';
import type { History } from './history.ts';
import type { Intents } from './intents.ts';
import type { BodyStore } from './kept-bodies.ts';
import type { Operations, RetriggerReads } from './operations.ts';
import type { Pauses } from './pauses.ts';
import type { Plans } from './plans.ts';
import type { Reports } from './reports.ts';
import type { PolicyMemory, Runs } from './runs.ts';
import type { SignalInbox, Signals } from './signals.ts';
import type { TimelineReader } from './timeline.ts';
import type { Identity, Trust } from './trust.ts';
import type { Raises, Usage } from './usage.ts';

/** Complete ledger, for its adapter and its owner. Other users take only the part that they need. */
export interface Ledger
  extends
    Identity,
    Trust,
    Runs,
    PolicyMemory,
    Plans,
    Intents,
    History,
    Usage,
    Raises,
    Campaigns,
    Pauses,
    Operations,
    RetriggerReads,
    SignalInbox,
    Signals,
    BodyStore,
    DeployInbox,
    Deploys,
    Acknowledgments,
    Counters,
    TimelineReader,
    Reports {
  /**
   * Returns this ledger for an engine that owns only these accounts: its open actions, interrupted operations, unknown
   * outcomes, campaigns and stored plans are those of the accounts. Everything else is the same.
   */
  within(accounts: readonly string[]): Ledger;
  /**
   * Gives `use` a ledger whose reads see the store at one moment, with one round trip for reads that begin together.
   *
   * @param signal ends the view: it rejects, and reads no more
   */
  view<T>(use: (ledger: Ledger) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Reads for the statuses of policies. */
export type StatusReads = Pick<Pauses, 'pauses'> &
  Pick<PolicyMemory, 'policyVersions'> &
  Pick<Signals, 'pendingTriggers'> &
  Pick<Campaigns, 'campaigns'>;
