/**
 * State of a campaign. A bulk repair is a release: one campaign per policy and group, which survives runs and restarts.
 * It starts with few entries, waits for their outcomes, and grows or halts. guardrails/campaign.ts has the rules.
 */

export const CAMPAIGN_STATES = ['ready', 'settling', 'halted', 'audit', 'ended'] as const;

export interface Campaign {
  /** `POLICY/sequence`, unique in a store. */
  readonly id: string;
  readonly policy: string;
  readonly account: string;
  readonly group: string;
  /**
   * `ready`: the next step can start. `settling`: a step was sent and is not judged. `halted`: the breaker is open
   * until `until`. `audit`: fell back after three consecutive halts, until an operator lifts it. `ended`: drained.
   */
  readonly state: (typeof CAMPAIGN_STATES)[number];
  /** Number of the current step, else of the next one. 1 for the first step. */
  readonly step: number;
  /** Maximum entries of that step. */
  readonly size: number;
  /** Epoch milliseconds when the campaign began. */
  readonly begunAt: number;
  /** Epoch milliseconds when the last action of the current step was sent. */
  readonly sentAt?: number;
  /** Epoch milliseconds. `settling`: the step is not judged earlier. `halted`: the breaker stays open until then; absent: until the next deploy. */
  readonly until?: number;
  /** Milliseconds of `ramp.settle` that an operator set for the current step. Absent: the policy's own. */
  readonly settle?: number;
  /** Deploy after which the campaign began, or began again. Absent for policies that wait for no deploy. */
  readonly deploy?: { readonly id: number; readonly version: string };
  /** Number of consecutive halts without a verified step in between. */
  readonly halts: number;
  /** Last results, oldest first, at most 50. True means verified. */
  readonly recent: readonly boolean[];
  /** Total number of judged entries. */
  readonly judged: number;
  readonly verified: number;
  /**
   * Epoch milliseconds when the last step was verified. Absent after a failed step or a halt, and before the first
   * step.
   */
  readonly verifiedAt?: number;
  /** Epoch milliseconds of the last halt. */
  readonly haltedAt?: number;
  /** Reason for the halt or fallback. */
  readonly reason?: string;
}

/** Returns true if a halt has lasted its time. After a deploy that fixed nothing it lasts until the next one. */
export function isReopening({ state, until, deploy }: Campaign, now: number): boolean {
  return state === 'halted' && now >= (until ?? (deploy === undefined ? now : Infinity));
}

/** Actions of one step of a campaign, and their last outcomes. Times are epoch milliseconds. */
export interface CampaignStep {
  readonly campaign: string;
  readonly step: number;
  /** Time of its first action. */
  readonly at: number;
  readonly sent: number;
  /** Final outcomes by the minute that they became known. */
  readonly outcomes: readonly {
    readonly at: number;
    readonly outcome: 'verified' | 'failed_again';
    readonly count: number;
  }[];
}
