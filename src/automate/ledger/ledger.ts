/**
 * The ledger is the append-only truth of what the daemon did: no effect without a durable intent, no target acted on
 * twice unless it was proven that the first request did nothing. Every change of state is told to the audit log in the
 * same transaction: what cannot be written there does not happen. Times are epoch milliseconds.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { ActionType, EventTrigger, Plan, Proposal, RunOutcome, Trigger } from '#foundation/domain/plan.ts';

/**
 * What became of an intent. `unknown` blocks its target until reading resolves it; `rejected` and `resolved_not_done`
 * are provably without effect and give their cap back. `undecidable` is `unknown` that no reading can resolve.
 */
export const ACTION_OUTCOMES = [
  'acked',
  'verified',
  'came_back',
  'unverified',
  'rejected',
  'unknown',
  'resolved_done',
  'resolved_not_done',
  'undecidable',
] as const;
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];

export interface Intent {
  readonly id: number;
  readonly at: number;
  readonly runId: number;
  readonly proposal: Proposal;
  /** Fencing number of the process that wrote it. */
  readonly epoch: number;
}

/** An intent as pages and the API show it. */
export interface ActionRecord extends Intent {
  /** Absent while the request is in flight, or after a crash until recovery. */
  readonly outcome?: ActionOutcome;
  readonly outcomeAt?: number;
  readonly detail?: string;
  readonly newRunId?: string;
  /** Entries that the service said it acted on. */
  readonly done?: number;
}

export interface CapLimit {
  readonly scope: 'policy' | 'account' | 'engine';
  readonly windowMs: number;
  /** How much longer the window is counted, because acts in it were dated before the time was set; milliseconds. */
  readonly marginMs?: number;
  readonly limit: number;
  /** Counts these actions alone; absent: all but budget.raise. */
  readonly actions?: readonly ActionType[];
}

export type Reservation =
  | { readonly ok: true; readonly intent: Intent }
  /** `claim`: the target was acted on before. `caps`: a window is full. `lease`: another executor has the store. */
  | { readonly ok: false; readonly guard: 'claim' | 'caps' | 'lease'; readonly reason: string };

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
  readonly trigger: Trigger;
  readonly planId: string;
  readonly finishedAt?: number;
  readonly outcome?: RunOutcome;
  readonly matched: number;
  readonly acted: number;
  readonly backlog: number;
  readonly detail?: string;
}

/** A pause that the daemon or a person put on the engine or a policy. It stands until a person lifts it. */
export interface Pause {
  /** `engine`, `policy/NAME`, or `group/POLICY/GROUP`. */
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
  /** `engine`, or who asked for it. */
  readonly by: string;
}

/** A plan that was shown to a person, or waits for one. Bound to its hash, expires, used once. */
export interface StoredPlan {
  readonly plan: Plan;
  /** What an approval covers: the targets of all acts that the guards of entries allowed. */
  readonly targets: readonly string[];
  readonly savedAt: number;
  readonly expiresAt: number;
  /** `shown`: made by hand. `waiting`: asks for approval. */
  readonly state: 'shown' | 'waiting' | 'approved' | 'rejected' | 'used' | 'expired';
  readonly by?: string;
  readonly reason?: string;
}

/** A trigger that no run has dealt with yet. */
export interface PendingTrigger {
  readonly trigger: EventTrigger;
  readonly at: number;
}

export interface Ledger {
  /** Identity of this store, made at its creation; the `instance` of stamps. */
  readonly instance: string;
  /** Fencing number of this process: one more with each opening of the store. */
  readonly epoch: number;
  /** Why this process is not the store's one executor; undefined while it is. */
  leaseLost(): string | undefined;
  /**
   * Why the store is not to be trusted to act: it is older than the audit log, or of unknown identity. Everything is in
   * audit until a person adopts it.
   */
  readonly mustBeAdopted: string | undefined;
  adopt(adopted: { readonly at: number; readonly by: string; readonly reason: string }): void;

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
      /** The guard that stopped it. */
      readonly stoppedBy?: string;
    },
  ): void;

  /** One durable transaction: lease, claim, caps and intent, all or none. @throws when the audit log cannot be written */
  reserve(runId: number, proposal: Proposal, at: number, caps: readonly CapLimit[]): Reservation;
  /** Durable. `newRunId` ties the resumed run to its lineage. */
  recordOutcome(
    intentId: number,
    outcome: {
      readonly at: number;
      readonly outcome: ActionOutcome;
      readonly detail?: string;
      readonly newRunId?: string;
      readonly done?: number;
    },
  ): void;

  /** Intents without any outcome: what a crash left behind. */
  intentsWithoutOutcome(): readonly Intent[];
  /** Intents whose outcome is `unknown`, or `acked` and not yet verified. */
  unsettled(account: string): readonly ActionRecord[];
  /** How many intents have an outcome that nobody knows yet, by policy. */
  unknownOutcomes(): ReadonlyMap<string, number>;
  /** When the oldest intent without a last word was made; absent when there is none. */
  oldestUnsettledAt(): number | undefined;

  /** Durable. Where a pause stands already, its reason stays. */
  pause(pause: Pause): void;
  pauses(): readonly Pause[];
  /** Lifts the pause of a scope, or every one; the reason is kept. @returns how many */
  unpause(lifted: {
    readonly scope?: string;
    readonly at: number;
    readonly reason: string;
    readonly by: string;
  }): number;

  /** Whether an intent for this target stands that was not proven without effect. */
  isClaimed(account: string, target: string): boolean;
  /** What such an intent does to this entry; undefined when there is none. */
  actionOn(account: string, dlqId: string): ActionType | undefined;
  /** The history of the run that a resume of ours created under this id. */
  lineageOfRun(account: string, workflowRunId: string): LineageHistory | undefined;
  historyOf(account: string, lineage: string): LineageHistory;
  /** The entries that resumes of a lineage after `since` were sent for, but for those proven without effect. */
  resumesOf(
    account: string,
    lineage: string,
    since: number,
  ): readonly { readonly dlqId: string; readonly failedAt: number }[];
  /** The run that failed, of which a resume of ours made this one. */
  resumedFrom(account: string, workflowRunId: string): string | undefined;

  /** Worth of the acts whose cap is taken, since `since`. */
  used(
    scope: { readonly policy?: string; readonly account?: string; readonly actions?: readonly ActionType[] },
    since: number,
  ): number;
  /** The last intent of a policy. */
  lastIntentAt(policy: string): number | undefined;
  /** When the last act since `since` was sent of which it was not, or is not, known what it did. */
  lastUnknownAt(policy: string, since: number): number | undefined;
  /** Tries of the runs that were resumed since `since`: each once, and as often as it may be retried. */
  resumedTries(account: string, since: number): number;
  /** Budget raises that may have had an effect, since `since`, oldest first. */
  raises(
    account: string,
    since: number,
  ): readonly {
    readonly at: number;
    readonly fromUsd: number;
    readonly toUsd: number;
    readonly outcome?: ActionOutcome;
  }[];

  /**
   * Notes that the store watches an account from now on, unless it does so already. An account that got another `id` is
   * another account. `adopt` forgets it: raises may be missing.
   */
  noteAccount(account: string, id: string, at: number): void;
  /** Epoch milliseconds since which the store has every raise of an account. */
  accountSince(account: string): number | undefined;

  /** Durable. The campaign of a policy and group that has not ended; a new one has an id of its own. */
  campaign(policy: string, group: string): Campaign | undefined;
  campaigns(): readonly Campaign[];
  saveCampaign(campaign: Campaign): void;
  nextCampaignId(policy: string): string;
  /** The acts of one step. */
  stepActs(campaign: string, step: number): readonly ActionRecord[];

  /** Durable. */
  savePlan(plan: StoredPlan): void;
  /** By id or any longer beginning of its hash. Expired ones say so. */
  storedPlan(id: string, now: number): StoredPlan | undefined;
  /** Newest first. */
  storedPlans(states: readonly StoredPlan['state'][], now: number): readonly StoredPlan[];
  /** @returns false when it is not in the state that this needs: decided, used or expired meanwhile */
  decidePlan(
    id: string,
    decision: {
      readonly state: 'approved' | 'rejected' | 'used';
      readonly at: number;
      readonly by: string;
      readonly reason?: string;
      /** Epoch milliseconds, where the decision holds for a shorter time than the plan. */
      readonly expiresAt?: number;
    },
  ): boolean;

  /** Durable. The trigger is pending from now on. @returns false when the policy got a trigger of this key before */
  recordTrigger(trigger: {
    readonly policy: string;
    readonly account: string;
    readonly trigger: EventTrigger;
    readonly at: number;
  }): boolean;
  /** Pending triggers of a policy, oldest first. An alert's trigger needs an alert that fired within the last day. */
  pendingTriggers(policy: string, account: string, now: number): readonly PendingTrigger[];
  /** Durable. A run dealt with these triggers; they are pending no more. */
  endTriggers(policy: string, triggers: readonly PendingTrigger[]): void;

  /**
   * Durable. Stores the state of an alert; the end of an alert ends its pending triggers. Alerts are told apart by
   * fingerprint and start.
   *
   * @returns whether the alert is new
   */
  noteAlert(alert: {
    readonly receiver: string;
    readonly name: string;
    readonly key: string;
    /** Accounts that the alert concerns. Absent: not known. */
    readonly accounts?: readonly string[];
    readonly isFiring: boolean;
    readonly at: number;
  }): boolean;
  /**
   * Whether an alert of this name fires for the account. Undefined when that is not known: no alert has ever come, the
   * accounts of one that fires are not known, or it was not repeated for a day. After six days it has ended.
   */
  alertFiring(account: string, name: string, now: number): boolean | undefined;

  noteDeadLetter(letter: DeadLetter): void;
  /** The newest of them, oldest first. */
  deadLetters(account: string, limit: number): readonly DeadLetter[];
  /** Its claim stays. */
  forgetDeadLetter(account: string, dlqId: string): void;

  /** When a delete policy first matched an entry; recorded by `noteMatches`, forgotten when it no longer matches. */
  firstMatchedAt(policy: string, dlqId: string): number | undefined;
  noteMatches(policy: string, dlqIds: readonly string[], at: number): void;

  /** What a policy was when it last ran, and the audit runs it has made since it was new or widened. */
  policyVersion(
    policy: string,
  ): { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number } | undefined;
  savePolicyVersion(
    policy: string,
    version: { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number },
  ): void;

  /** When a policy's condition was first found true without a break; `since` undefined forgets it. */
  condition(policy: string): { readonly since: number; readonly last: number; readonly readings: number } | undefined;
  saveCondition(
    policy: string,
    condition: { readonly since: number; readonly last: number; readonly readings: number } | undefined,
  ): void;

  recentActions(limit: number): readonly ActionRecord[];
  action(id: number): ActionRecord | undefined;
  /** Acts on an entry or a run, newest first. */
  actionsOn(account: string | undefined, id: string): readonly ActionRecord[];
  /** The last run of each policy. */
  lastRuns(): readonly RunRecord[];
  /** Policies of which a run was stopped by this guard, since `since`. */
  stoppedBy(guard: string, since: number): readonly string[];
  runs(filter: { readonly policy?: string; readonly limit: number }): readonly RunRecord[];
}
