/**
 * The ledger is the append-only truth of what the daemon did: no effect without a durable intent, no id sent twice
 * unless it was proven that the first request did nothing. Times are epoch milliseconds.
 */
import type { Plan, Proposal, RunOutcome } from '../domain/plan.ts';

/**
 * What became of an intent. `unknown` blocks its dlqId until reading resolves it; `rejected` and `resolved_not_done`
 * are provably without effect and give their cap back.
 */
export const ACTION_OUTCOMES = [
  'acked',
  'verified',
  'came_back',
  'rejected',
  'unknown',
  'resolved_done',
  'resolved_not_done',
] as const;
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];

export interface Intent {
  readonly id: number;
  readonly at: number;
  readonly runId: number;
  readonly proposal: Proposal;
}

/** An intent as pages and the API show it. */
export interface ActionRecord extends Intent {
  /** Absent while the request is in flight, or after a crash until recovery. */
  readonly outcome?: ActionOutcome;
  readonly outcomeAt?: number;
  readonly detail?: string;
  readonly newRunId?: string;
}

export interface CapLimit {
  /** `policy`, `account` or `engine`. */
  readonly scope: 'policy' | 'account' | 'engine';
  readonly windowMs: number;
  readonly limit: number;
}

export type Reservation =
  | { readonly ok: true; readonly intent: Intent }
  /** `claim`: the dlqId was sent before. `caps`: a window is full. */
  | { readonly ok: false; readonly guard: 'claim' | 'caps'; readonly reason: string };

/** What is known of a run's repairs so far. */
export interface LineageHistory {
  readonly lineage: string;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
}

export interface RunRecord {
  readonly id: number;
  readonly policy: string;
  readonly account: string;
  readonly at: number;
  readonly finishedAt?: number;
  readonly outcome?: RunOutcome;
  readonly matched: number;
  readonly acted: number;
  readonly backlog: number;
  readonly detail?: string;
}

/** A pause that the daemon put on itself. It stands until a person lifts it. */
interface Pause {
  /** `engine`, or `policy/NAME`. */
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
}

export interface Ledger {
  /** Identity of this store, made at its creation; the `instance` of stamps. */
  readonly instance: string;

  beginRun(plan: Plan, at: number): number;
  finishRun(
    runId: number,
    result: {
      readonly at: number;
      readonly outcome: RunOutcome;
      readonly matched: number;
      readonly acted: number;
      readonly backlog: number;
      readonly detail?: string;
    },
  ): void;

  /** One durable transaction: claim, caps and intent, all or none. */
  reserve(runId: number, proposal: Proposal, at: number, caps: readonly CapLimit[]): Reservation;
  /** Durable. `newRunId` ties the resumed run to its lineage. */
  recordOutcome(
    intentId: number,
    outcome: {
      readonly at: number;
      readonly outcome: ActionOutcome;
      readonly detail?: string;
      readonly newRunId?: string;
    },
  ): void;

  /** Intents without any outcome: what a crash left behind. */
  intentsWithoutOutcome(): readonly Intent[];
  /** Intents whose outcome is `unknown`, or `acked` and not yet verified. */
  unsettled(account: string): readonly ActionRecord[];

  /** How many intents have an outcome that nobody knows yet. */
  unknownOutcomes(): number;

  /** Durable. Where a pause stands already, its reason stays. */
  pause(pause: Pause): void;
  pauses(): readonly Pause[];
  /** Lifts every pause, for a reason that is kept. @returns how many */
  unpause(lifted: { readonly at: number; readonly reason: string }): number;

  /** Whether an intent for this entry stands that was not proven without effect. */
  isClaimed(account: string, dlqId: string): boolean;
  /** What such an intent does to this entry; undefined when there is none. */
  actionOn(account: string, dlqId: string): Proposal['action'] | undefined;
  /** The history of the run that a resume of ours created under this id. */
  lineageOfRun(account: string, workflowRunId: string): LineageHistory | undefined;
  historyOf(account: string, lineage: string): LineageHistory;
  /** The run that failed, of which a resume of ours made this one. */
  resumedFrom(account: string, workflowRunId: string): string | undefined;

  /** Acts whose cap is taken, since `since`. */
  used(scope: { readonly policy?: string; readonly account?: string }, since: number): number;

  recentActions(limit: number): readonly ActionRecord[];
  /** The last run of each policy. */
  lastRuns(): readonly RunRecord[];
}
