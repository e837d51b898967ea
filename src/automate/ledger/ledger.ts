/**
 * The ledger is the append-only truth of what the daemon did: no effect without a durable intent, no target acted on
 * twice unless it was proven that the first request did nothing. Every change of state is told to the audit log in the
 * same transaction: what cannot be written there does not happen. Times are epoch milliseconds.
 */
import type { Campaigns } from './campaigns.ts';
import type { History } from './history.ts';
import type { Intents } from './intents.ts';
import type { Pauses } from './pauses.ts';
import type { Plans } from './plans.ts';
import type { Reports } from './reports.ts';
import type { PolicyMemory, Runs } from './runs.ts';
import type { SignalInbox, Signals } from './signals.ts';
import type { Identity, Trust } from './trust.ts';
import type { Raises, Usage } from './usage.ts';

/** The whole ledger, for its adapter and its owner; each user takes the part that it uses. */
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
    SignalInbox,
    Signals,
    Reports {}
