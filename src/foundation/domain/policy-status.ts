import type { Campaign } from './campaign.ts';
import type { ActionType, Denial, EventTrigger, PolicyMode } from './plan.ts';

/** Policy as shown by the pages, the API and the metrics. */
export interface PolicyStatus {
  readonly name: string;
  readonly account: string;
  readonly action: ActionType;
  readonly owner?: string;
  readonly description?: string;
  /** Position in the configuration: `file:line`. */
  readonly source: string;
  /** Readable schedule: `every 5m`, or the cron expression with its time zone. */
  readonly schedule: string;
  readonly mode: PolicyMode;
  /** Lowest mode of policy, account, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Reason why the effective mode is lower than the policy's own. */
  readonly reducedBy?: string;
  /** Remaining audit runs. */
  readonly probationLeft?: number;
  /** Hold of the policy, and its start in epoch milliseconds. */
  readonly held?: Denial & { readonly since: number };
  /** Alerts, failure callbacks or deploys that no run has processed yet. `since` is the arrival of the oldest. */
  readonly pending?: {
    readonly trigger: EventTrigger['kind'];
    /** Name of the alert. */
    readonly alert?: string;
    /** Version of the deploy. */
    readonly version?: string;
    readonly count: number;
    readonly since: number;
  };
  /** Campaigns that have not ended. */
  readonly campaigns: readonly (Campaign & { readonly breaker: 'closed' | 'half-open' | 'open' })[];
  /** Epoch milliseconds. */
  readonly nextRunAt?: number;
}
