/** An account of the embedded service: identity, credentials, plan. One process may hold several. */

export interface Account {
  /** Uuid, or the id it was given. */
  readonly id: string;
  token: string;
  readOnlyToken: string;
  plan: PlanName;
  /** Dollars a month; 0 is no limit. */
  budgetUsd: number;
  /** Owner: an e-mail address or a team's id. */
  customerId: string;
  /** The owner that it was made by, whoever owns it now. */
  readonly createdBy: string;
  /** The one that it was made with, before all `planChanges`. */
  readonly firstPlan: PlanName;
  /** `active` when absent. An account in any other state, such as `passive`, takes no requests. */
  state?: string | undefined;
  /** A change in progress; one that is being `suspended` takes no requests. */
  modifyingState?: string | undefined;
  /** Of an enterprise account; its own id when absent. */
  enterpriseId?: string | undefined;
  /** The first region of the interface when absent. */
  region?: 'eu-central-1' | 'us-east-1' | undefined;
  /** True when absent. */
  metricsEnabled?: boolean | undefined;
  /** Epoch milliseconds; that of the service when absent. */
  createdAt?: number;
  /** In order. */
  planChanges?: readonly { readonly plan: PlanName; readonly at: number }[];
}

export type PlanName = 'free' | 'paid' | 'fixed_1m' | 'fixed_10m' | 'fixed_100m' | 'fixed' | 'enterprise';
