/** Events of the policies, their actions, and the engine. */
import type { Campaign } from '../domain/campaign.ts';
import type { Denial, RunOutcome, Trigger } from '../domain/plan.ts';

export type PolicyEvent =
  | { readonly type: 'policy.triggered'; readonly policy: string; readonly account: string; readonly trigger: Trigger }
  | {
      readonly type: 'policy.run';
      readonly policy: string;
      readonly account: string;
      /** Epoch milliseconds. */
      readonly at: number;
      readonly trigger: Trigger['kind'];
      /** Id of the stored plan that it applies or that is pending; absent if there is none. */
      readonly planId?: string;
      readonly outcome: RunOutcome;
      readonly matched?: number;
      readonly acted: number;
      readonly backlog?: number;
      readonly denials: readonly { readonly guard: string; readonly count: number }[];
      readonly evaluationErrors: number;
      /** Milliseconds until the backlog is drained at the limits of ramp and caps; absent if nothing matched. */
      readonly drainMs?: number;
      readonly stopped?: Denial;
      readonly error?: string;
    }
  | {
      readonly type: 'action.outcome';
      readonly policy: string;
      readonly account: string;
      readonly action: string;
      /** A dlqId, or the page or amount of the action. */
      readonly target: string;
      /** Run of the action; absent if only its entry is known. */
      readonly workflowRunId?: string;
      readonly outcome: string;
      /** Number of entries in the request: more than one for a prune page. */
      readonly items: number;
      /** Number of entries that the service acted on, according to its response. */
      readonly done?: number;
      readonly durationMs: number;
      readonly detail?: string;
    }
  | {
      /** An entry is deleted without an archive, as its policy allows. */
      readonly type: 'archive.failed';
      readonly policy: string;
      readonly account: string;
      readonly dlqId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'campaign.changed';
      readonly policy: string;
      readonly account: string;
      readonly group: string;
      readonly state: Campaign['state'];
      readonly step: number;
      readonly size: number;
      readonly reason?: string;
    }
  | { readonly type: 'engine.paused'; readonly scope: string; readonly reason: string }
  | { readonly type: 'engine.unpaused'; readonly lifted: number; readonly reason: string }
  | { readonly type: 'engine.recovered'; readonly unknown: number };
