/**
 * A bulk repair is a release: one campaign for each policy and group, which outlives runs and restarts. It begins
 * with few entries, waits until it is known what became of them, and grows or halts. The rules are in
 * guardrails/campaign.ts; this is what is kept.
 */

export interface Campaign {
  /** `POLICY/sequence`, unique in a store. */
  readonly id: string;
  readonly policy: string;
  readonly account: string;
  readonly group: string;
  /**
   * `ready`: the next step may go. `settling`: a step is out and not judged. `halted`: the breaker is open until
   * `until`. `audit`: fell back after three halts in a row, until a person lifts it. `ended`: drained.
   */
  readonly state: 'ready' | 'settling' | 'halted' | 'audit' | 'ended';
  /** 1 for the first step. Of a step under way its own number, else that of the next. */
  readonly step: number;
  /** Most entries of that step. */
  readonly size: number;
  /** Epoch milliseconds when the campaign began. */
  readonly begunAt: number;
  /** Epoch milliseconds when the last act of the step under way was sent. */
  readonly sentAt?: number;
  /** Epoch milliseconds: `settling`: not judged before; `halted`: the breaker stays open. */
  readonly until?: number;
  /** Milliseconds: `ramp.settle` as someone overruled it for the step under way. Absent: the policy's own. */
  readonly settle?: number;
  /** Halts in a row, without a verified step between. */
  readonly halts: number;
  /** The last results, oldest first, at most 50: true is verified. */
  readonly recent: readonly boolean[];
  /** Judged in all. */
  readonly judged: number;
  readonly verified: number;
  /** Epoch milliseconds when the last step was found verified; absent after a bad one, a halt, and before the first. */
  readonly verifiedAt?: number;
  /** Why it halted or fell back. */
  readonly reason?: string;
}
