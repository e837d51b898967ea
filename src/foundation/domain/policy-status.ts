import type { Campaign } from './campaign.ts';
import type { ActionType, EventTrigger, PolicyMode } from './plan.ts';

/** A policy as pages, the API and the metrics show it. */
export interface PolicyStatus {
  readonly name: string;
  readonly account: string;
  readonly action: ActionType;
  readonly owner?: string;
  readonly description?: string;
  /** Where it is written: `file:line`. */
  readonly source: string;
  /** For people: `every 5m`, or the cron expression with its zone. */
  readonly schedule: string;
  readonly mode: PolicyMode;
  /** The least of policy, account, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Why the effective mode is less than the policy's own. */
  readonly reducedBy?: string;
  /** Audit runs that it has still to make. */
  readonly probationLeft?: number;
  /** What holds it, and since when (epoch milliseconds). */
  readonly held?: { readonly guard: string; readonly reason: string; readonly since: number };
  /** Alerts or failure callbacks that no run has dealt with yet; `since`: when the oldest of them came. */
  readonly pending?: {
    readonly trigger: EventTrigger['kind'];
    /** Name of the alert. */
    readonly alert?: string;
    readonly count: number;
    readonly since: number;
  };
  /** Those that have not ended. */
  readonly campaigns: readonly (Campaign & { readonly breaker: 'closed' | 'half-open' | 'open' })[];
  /** Epoch milliseconds. */
  readonly nextRunAt?: number;
}
