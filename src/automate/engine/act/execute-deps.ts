/** Dependencies of the execution of a plan, and results of its parts. */
import type { Denial, Plan } from '#foundation/domain/plan.ts';
import type { Campaigns } from '../../ledger/campaigns.ts';
import type { History } from '../../ledger/history.ts';
import type { Intents } from '../../ledger/intents.ts';
import type { Identity, Trust } from '../../ledger/trust.ts';
import type { Authority } from '../guard/authority.ts';
import type { DecideDeps } from '../decide/decide-deps.ts';

type ExecuteLedger = Identity & Trust & Intents & History & Campaigns;

export interface ExecuteDeps<L = ExecuteLedger> extends DecideDeps<L> {
  readonly authority: Authority;
  /** Actions between their reservation and their outcome, by run and target. */
  readonly inFlight: Set<string>;
  /** Groups with a step in progress, by policy and group. */
  readonly inStep: Set<string>;
}

/** Run in progress. */
export interface Run {
  readonly id: number;
  readonly plan: Plan;
  /** Facts for the act guards, in addition to the current mode. */
  readonly isApproved: boolean;
  readonly probationLeft: number;
  /** Ids of the plans that approve it. An operator can take an approval back at any time. */
  readonly approvals: readonly string[];
}

export type Step = 'acted' | 'skipped' | 'failed' | 'unknown';

/** Result of one action; without `took` it was not reached. */
export interface StepResult {
  readonly took?: Step;
  readonly done?: number;
  readonly stopped?: Denial;
  /** True if nothing is left for the later actions. */
  readonly isLast?: boolean;
  /** Reason why the action could not be prepared and was skipped. */
  readonly unprepared?: string;
}
