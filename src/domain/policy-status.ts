import type { PolicyMode } from './plan.ts';

/** A policy as pages, the API and the metrics show it. */
export interface PolicyStatus {
  readonly name: string;
  readonly account: string;
  readonly owner?: string;
  readonly description?: string;
  /** Where it is written: `file:line`. */
  readonly source: string;
  /** For people: `every 5m`, or the cron expression with its zone. */
  readonly schedule: string;
  readonly mode: PolicyMode;
  /** The least of policy, engine and pause. */
  readonly effectiveMode: PolicyMode;
  /** Why the effective mode is less than the policy's own. */
  readonly reducedBy?: string;
  /** Epoch milliseconds. */
  readonly nextRunAt?: number;
}
