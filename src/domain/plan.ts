/** What a policy would do, and why not more: the value that the engine makes, the page shows and `opsd plan` prints. */

export const POLICY_MODES = ['off', 'audit', 'approve', 'enforce'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** The least of several modes: a policy acts only as far as every authority above it allows. */
export function leastMode(...modes: readonly PolicyMode[]): PolicyMode {
  return POLICY_MODES[Math.min(...modes.map((mode) => POLICY_MODES.indexOf(mode)))]!;
}

/** One entry that a policy proposes to act on. */
export interface Proposal {
  readonly policy: string;
  readonly account: string;
  readonly action: 'workflow-dlq.resume';
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly lineage: string;
  /** The attempt this act would be: 1 for the first. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  /** Labels without the daemon's own stamps. */
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly cause: string;
  readonly status?: number;
}

/** Why an entry, or a whole run, was stopped. `guard` is the metric's label, the ledger's field and the word on the page. */
export interface Denial {
  readonly guard: string;
  readonly reason: string;
}

type PlanState =
  | 'nothing' // nothing to do
  | 'changes' // would act
  | 'held' // a guard holds the whole run; it may pass later
  | 'aborted'; // what was read cannot be trusted

export interface Plan {
  /** First characters of the hash over policy, account and the chosen ids in order. */
  readonly id: string;
  readonly policy: string;
  readonly account: string;
  /** Where the policy is written: `file:line`. */
  readonly source: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly state: PlanState;
  readonly mode: PolicyMode;
  /** The least of policy, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Why the run as a whole is held or aborted. */
  readonly stopped?: Denial;
  readonly read: {
    readonly pages: number;
    readonly entries: number;
    readonly complete: boolean;
    readonly echoChecked: number;
    /** Local clock minus the service's, in milliseconds; absent when the service sent no Date. */
    readonly clockSkewMs?: number;
  };
  /** Acted on now, in order. */
  readonly chosen: readonly Proposal[];
  /** Allowed by the guards for each entry, but over what one run may do; left for later. */
  readonly backlog: number;
  /** Entries left out, by guard and reason, most first. */
  readonly skipped: readonly { readonly guard: string; readonly reason: string; readonly count: number }[];
  /** Entries on which the expression failed. */
  readonly evaluationErrors: number;
  readonly caps: readonly {
    readonly scope: string;
    readonly window: string;
    readonly used: number;
    readonly limit: number;
  }[];
}

export const RUN_OUTCOMES = [
  'acted',
  'nothing',
  'held',
  'aborted',
  'halted',
  'incomplete',
  'error',
  'skipped',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];
