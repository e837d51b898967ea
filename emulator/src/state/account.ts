/** An account of the embedded service: identity, credentials, plan. One process may hold several. */

export interface Account {
  /** UUID, or the id that was given. */
  readonly id: string;
  token: string;
  readOnlyToken: string;
  plan: PlanName;
  /** Limits that differ from the plan's. */
  limits?: Partial<PlanLimits> | undefined;
  /** Monthly budget in dollars; 0 is unlimited. */
  budgetUsd: number;
  /** Owner: an e-mail address or a team's id. */
  customerId: string;
  /** Owner at the creation, unchanged by later transfers. */
  readonly createdBy: string;
  /** Plan at the creation, before all `planChanges`. */
  readonly firstPlan: PlanName;
  /** `active` when absent. Requests of an account in any other state, such as `passive`, are rejected. */
  state?: string | undefined;
  /** Change in progress. While it is `suspended`, requests are rejected. */
  modifyingState?: string | undefined;
  /** Id of an enterprise account; its own id when absent. */
  enterpriseId?: string | undefined;
  /** The first region of the interface when absent. */
  region?: 'eu-central-1' | 'us-east-1' | undefined;
  /** True when absent. */
  metricsEnabled?: boolean | undefined;
  /** Epoch milliseconds; the service's start when absent. */
  createdAt?: number;
  /** Changes in order. */
  planChanges?: readonly { readonly plan: PlanName; readonly at: number }[];
}

export type PlanName = 'free' | 'paid' | 'fixed_1m' | 'fixed_10m' | 'fixed_100m' | 'fixed' | 'enterprise';

/** Limits as the account record has them. */
export interface PlanLimits {
  /** Bytes. */
  readonly max_message_size: number;
  readonly max_requests_per_day: number;
  readonly max_requests_per_day_hard: number;
  readonly max_endpoints_per_topic: number;
  readonly max_requests_per_second: number;
  readonly max_dlq_size: number;
  readonly max_retries: number;
  readonly max_topics: number;
  readonly max_schedules: number;
  readonly max_events_size: number;
  readonly max_dlq_retention_time_milis: number;
  /** Seconds. */
  readonly max_delay: number;
  readonly max_parallelism: number;
  readonly max_global_parallelism: number;
  readonly max_queues: number;
  /** Bytes. */
  readonly max_bandwidth_per_second: number;
  /** Seconds. */
  readonly timeout: number;
}
