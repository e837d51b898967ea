/**
 * The limits of each plan in one table, and the enforced limits. The interface names the limits without values
 * (sections 2.7 and 8), so the values here are typical of such services. The interface gives only the default retries:
 * 3 on the free plan and 5 on the paid ones. Paid plans allow more, so that tests can script longer back-offs.
 */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { Account, PlanLimits, PlanName } from './account.ts';
import { ApiError } from './api-error.ts';

const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1_000;

const PAID: PlanLimits = {
  max_message_size: 1_048_576,
  max_requests_per_day: 500_000,
  max_requests_per_day_hard: 1_000_000,
  max_endpoints_per_topic: 100,
  max_requests_per_second: 500,
  max_dlq_size: 10_000,
  max_retries: 20,
  max_topics: 100,
  max_schedules: 1_000,
  max_events_size: 10_000,
  max_dlq_retention_time_milis: 7 * DAY_MS,
  max_delay: 365 * DAY_SECONDS,
  max_parallelism: 100,
  max_global_parallelism: 1_000,
  max_queues: 100,
  max_bandwidth_per_second: 104_857_600,
  timeout: 7_200,
};

const FIXED_100M: PlanLimits = {
  ...PAID,
  max_message_size: 52_428_800,
  max_requests_per_day: 100_000_000,
  max_requests_per_day_hard: 200_000_000,
  max_requests_per_second: 20_000,
  max_dlq_size: 500_000,
  max_dlq_retention_time_milis: 90 * DAY_MS,
};

const FIXED_1M: PlanLimits = {
  ...PAID,
  max_message_size: 10_485_760,
  max_requests_per_day: 1_000_000,
  max_requests_per_day_hard: 2_000_000,
  max_requests_per_second: 1_000,
  max_dlq_size: 50_000,
  max_dlq_retention_time_milis: 30 * DAY_MS,
};

export const PLAN_LIMITS: Readonly<Record<PlanName, PlanLimits>> = {
  free: {
    ...PAID,
    max_requests_per_day: 1_000,
    max_requests_per_day_hard: 1_000,
    max_requests_per_second: 100,
    max_dlq_size: 100,
    max_retries: 3,
    max_topics: 1,
    max_schedules: 10,
    max_events_size: 1_000,
    max_dlq_retention_time_milis: 3 * DAY_MS,
    max_delay: 7 * DAY_SECONDS,
    max_parallelism: 10,
    max_global_parallelism: 10,
    max_queues: 10,
    max_bandwidth_per_second: 10_485_760,
    timeout: 900,
  },
  paid: PAID,
  fixed_1m: FIXED_1M,
  fixed_10m: {
    ...PAID,
    max_message_size: 10_485_760,
    max_requests_per_day: 10_000_000,
    max_requests_per_day_hard: 20_000_000,
    max_requests_per_second: 5_000,
    max_dlq_size: 100_000,
    max_dlq_retention_time_milis: 90 * DAY_MS,
  },
  fixed_100m: FIXED_100M,
  // Fixed plan of a size that its name does not contain.
  fixed: FIXED_1M,
  enterprise: { ...FIXED_100M, max_topics: 10_000, max_endpoints_per_topic: 1_000 },
};

/** Retention of log entries, which the record does not contain. */
const LOG_RETENTION_MS: Readonly<Record<PlanName, number>> = {
  free: 3 * DAY_MS,
  paid: 7 * DAY_MS,
  fixed_1m: 30 * DAY_MS,
  fixed_10m: 30 * DAY_MS,
  fixed_100m: 30 * DAY_MS,
  fixed: 30 * DAY_MS,
  enterprise: 30 * DAY_MS,
};

/** Monthly price in dollars of the plans that include their messages. */
export const RESERVED_PRICES_USD: Readonly<Record<PlanName, number>> = {
  free: 0,
  paid: 0,
  fixed_1m: 180,
  fixed_10m: 420,
  fixed_100m: 2_400,
  fixed: 180,
  enterprise: 5_000,
};

/** Present limits of an account. Infinity where nothing is enforced. */
export interface Limits {
  readonly plan: PlanName;
  /** Maximum bytes of a request's body, and of a response's body in a callback. The rest of the response is cut. */
  readonly messageBytes: number;
  readonly requestsPerSecond: number;
  /** Soft limit: it is reported to the caller, and no message is rejected for it. */
  readonly messagesPerDay: number;
  readonly messagesPerDayHard: number;
  readonly retries: number;
  readonly defaultRetries: number;
  readonly delayMs: number;
  readonly timeoutMs: number;
  readonly groups: number;
  readonly endpointsPerGroup: number;
  /** Maximum size of either DLQ. */
  readonly dlqSize: number;
  readonly dlqRetentionMs: number;
  readonly logRetentionMs: number;
  /** Concurrent deliveries to one URL. */
  readonly parallelism: number;
  /** Concurrent deliveries to all URLs. */
  readonly globalParallelism: number;
  /** Bytes of deliveries' bodies. */
  readonly bytesPerSecond: number;
}

/** Called at each use, so that a change of plan applies at once. */
export type LimitsOf = (account: Account) => Limits;

export interface LimitsOptions {
  /**
   * False: only defaults, timeouts and retention come from the plan. No limit then rejects, delays or drops anything.
   */
  readonly enforced: boolean;
  /** Replaces the plans' own. */
  readonly logRetentionMs?: number | undefined;
  /** Replaces the plans' own. */
  readonly dlqRetentionMs?: number | undefined;
}

export function createLimits(options: LimitsOptions): LimitsOf {
  const byPlan = new Map<PlanName, Limits>();
  return (account) =>
    account.limits === undefined
      ? getOrAdd(byPlan, account.plan, () => enforcedLimits(account, options))
      : enforcedLimits(account, options);
}

/** Returns the limits of the account record: the plan's, unless the account has its own. */
export function recordedLimits({ plan, limits }: Pick<Account, 'plan' | 'limits'>): PlanLimits {
  return { ...PLAN_LIMITS[plan], ...limits };
}

function enforcedLimits(account: Account, options: LimitsOptions): Limits {
  const { plan } = account;
  const record = recordedLimits(account);
  const most = (value: number): number => (options.enforced ? value : Infinity);
  return {
    plan,
    messageBytes: most(record.max_message_size),
    requestsPerSecond: most(record.max_requests_per_second),
    messagesPerDay: most(record.max_requests_per_day),
    messagesPerDayHard: most(record.max_requests_per_day_hard),
    retries: most(record.max_retries),
    defaultRetries: plan === 'free' ? 3 : 5,
    delayMs: most(record.max_delay * 1_000),
    timeoutMs: record.timeout * 1_000,
    groups: most(record.max_topics),
    endpointsPerGroup: most(record.max_endpoints_per_topic),
    dlqSize: most(record.max_dlq_size),
    dlqRetentionMs: options.dlqRetentionMs ?? record.max_dlq_retention_time_milis,
    logRetentionMs: options.logRetentionMs ?? LOG_RETENTION_MS[plan],
    parallelism: most(record.max_parallelism),
    globalParallelism: most(record.max_global_parallelism),
    bytesPerSecond: most(record.max_bandwidth_per_second),
  };
}

/**
 * Returns the error for a request that the plan does not allow: the request is valid, but beyond the account's plan.
 */
export function beyondPlan(limits: Limits, what: string): ApiError {
  return new ApiError(412, `${what}, the most that the plan ${limits.plan} allows`);
}
