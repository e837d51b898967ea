/**
 * All thresholds of rules and dashboards. After changing a number, run `npm run rules`, `npm run dashboards`, and
 * `npm test`. Ratios are 0 to 1; names contain units.
 */

import manifest from '../../package.json' with { type: 'json' };

/** Base URL of the runbooks; the page of an alert is its name and `.md`; docs/monitoring.md shows how to replace it. */
export const RUNBOOKS = `${manifest.homepage}runbooks/`;
/** Base URL of Grafana with the shipped dashboards; replaced in the same way. */
export const GRAFANA = `${manifest.homepage}grafana/`;

/**
 * Lookback for gauges. Gauges of a source without readings are withheld: an alert must not resolve because of that. The
 * alert about the source itself fires long before this time ends.
 */
export const GAUGE_RANGE = '15m';

/**
 * Time that alerts on counters, and on gauges that are absent in normal operation, keep firing: to them, a source
 * that is no longer read looks like a source without events.
 */
export const KEEP_FIRING = '15m';

/** Objectives, as the share of successes. One minus an objective is the error budget. */
export const OBJECTIVES = {
  /** Delivered messages, of all that end uncancelled. Permanently failed messages are lost unless someone acts. */
  delivered: 0.99,
  /** Successful attempts. Failed ones are retried, so this is lower; below it, retries cost money and time. */
  attempts: 0.95,
} as const;

/** Windows of recorded failures: each is the long or the short window of a burn rate below. */
export const BURN_WINDOWS = ['5m', '15m', '30m', '1h', '2h', '6h', '1d', '3d'] as const;
export type BurnWindow = (typeof BURN_WINDOWS)[number];

export interface BurnRate {
  /** Speed at which the error budget is used, relative to the allowed speed. Times the budget it must be below 1, the maximum ratio. */
  readonly factor: number;
  readonly long: BurnWindow;
  /** Short window, which ends the alert soon after the failures end. */
  readonly short: BurnWindow;
  /** Minimum age of the account or destination: at least half of the long window. Younger ones do not fire. */
  readonly known: string;
  /** Minimum number of failures within the long window. One failure of two messages is 50 %. */
  readonly least: number;
}

/** A page: 2 % of a month's error budget within an hour, or 5 % within six. */
export const FAST_BURN: readonly BurnRate[] = [
  { factor: 14.4, long: '1h', short: '5m', known: '30m', least: 10 },
  { factor: 6, long: '6h', short: '30m', known: '3h', least: 20 },
];

/** A ticket: 10 % of a month's error budget within a day, or within three. */
export const SLOW_BURN: readonly BurnRate[] = [
  { factor: 3, long: '1d', short: '2h', known: '12h', least: 30 },
  { factor: 1, long: '3d', short: '6h', known: '36h', least: 40 },
];

/**
 * A partial outage: 15 % of the attempts within 15 minutes, or 8 % within an hour. Attempts fail immediately, messages only
 * when their retries are used up, so this fires first.
 */
export const PARTIAL_OUTAGE: readonly BurnRate[] = [
  { factor: 3, long: '15m', short: '5m', known: '8m', least: 4 },
  { factor: 1.6, long: '1h', short: '5m', known: '30m', least: 10 },
];

export const THRESHOLDS = {
  deliveries: {
    /** Share of failed attempts at which a destination counts as down; below 1, because increases are estimates. */
    downRatio: 0.95,
    /**
     * Number of attempts, all failed, at which a destination is down. One message with quick retries can have as many within
     * 5 minutes, so the alert waits for another 5.
     */
    down: { window: '5m', attempts: 5 },
    /** The same within an hour, with some in each of the last two quarters: a single burst is not an outage. */
    downSlowly: { window: '1h', attempts: 10, quarter: '15m' },
    /** The same for a destination with a few messages a day. */
    downLittleTraffic: { window: '6h', attempts: 3 },
    /** Minimum attempts in the same half hour a day ago, and in the previous 6 hours, for an alert on no attempts. */
    stopped: { attemptsADayAgo: 30, attemptsBefore: 60 },
  },
  latency: {
    /** Quantile of the latency thresholds below. */
    quantile: 0.95,
    /** Minimum observations within 15 minutes for a meaningful quantile. */
    minObservations: 20,
    /** Duration of an attempt, seconds: a destination this slow is near common timeouts. A bucket bound of the histogram. */
    attemptSeconds: 10,
    /** Wait before an attempt, seconds: the service or flow control is late. A bucket bound of the histogram. */
    queueWaitSeconds: 60,
    /** Time from due to delivered, seconds, with retries. A bucket bound of the histogram. */
    deliverySeconds: 300,
    /** Seconds that a message is due and not delivered. */
    overdueSeconds: { warning: 900, critical: 3_600 },
  },
  dlq: {
    /** Used share of the DLQ's capacity; new messages may be lost when it is full. */
    fullRatio: { warning: 0.8, critical: 0.95 },
    /** Growth of the DLQ within an hour, messages. */
    growthMessages: 100,
  },
  workflows: {
    /** Growth of one workflow's failed runs within an hour. */
    growthRuns: 20,
    /** Age of the oldest failed run, seconds (2 days): no one handles it, and it will expire. */
    oldestSeconds: 172_800,
    /** Runs that expire within 24 hours. */
    expiringRuns: 1,
    /** Failed runs whose failure function failed as well. */
    failureFunctionRuns: 1,
  },
  flowControl: {
    /** Share of half an hour that messages wait for the key's limit. */
    saturatedRatio: 0.9,
    /** Waiting messages of a paused key. */
    pausedBacklogMessages: 1,
  },
  canary: {
    /** Share of the time at which the last message had failed; 0.6 lets one of a canary with an interval of 5 minutes fail. */
    failedShare: 0.6,
    window: '10m',
    /** Time after which a canary whose verdict is unknown is a problem: its purpose is to know. */
    unknownWindow: '1h',
  },
  spend: {
    /** Used share of the known monthly budget; at 1 the service may stop deliveries. */
    budgetUsedRatio: { warning: 0.9, critical: 1 },
    /** Forecast of the month divided by the known budget. */
    forecastRatio: 1,
    /** Time until the budget is used up at the current pace, seconds: 3 days to decide. */
    exhaustionSeconds: 259_200,
    /** Billing of the last 24 hours divided by the mean day of the previous week. */
    anomalyFactor: 2,
    /** Minimum difference from that mean day, dollars: twice a cent is not an anomaly. */
    anomalyDollars: 10,
    /** Used share of the daily requests. At 1 of the hard limit the service may reject requests. */
    dayRequestsRatio: { near: 0.9, reached: 1 },
  },
  search: {
    /** Vectors that are not indexed yet: searches do not find them. */
    pendingVectors: 10_000,
    /** Used share of an index quota (vectors, daily queries and updates, monthly reranks and bandwidth). */
    quotaRatio: 0.8,
  },
  api: {
    /** Share of the daemon's requests that get 429. */
    throttledRatio: 0.05,
    /** Used share of the daemon's own daily requests; at 1 it reads nothing until midnight UTC. */
    quotaRatio: 0.9,
  },
  collectors: {
    /** Share of failed runs of a collector within half an hour. */
    failedRatio: 0.5,
    /** Minimum failed runs within half an hour for a meaningful share. */
    minFailedRuns: 3,
    /** Lag of counting behind the message log, seconds. Must be longer than `collectors.logs.lag`. */
    logsBehindSeconds: 900,
    /** Lag at which the log counts as unread unless it catches up, seconds. */
    logUnreadSeconds: 3_600,
  },
  automation: {
    /** Duration of a hold, seconds. Most holds end automatically: a quota, a destination that is down. */
    heldSeconds: 7_200,
    /** Delay of a due run, seconds: more than the 10 minutes that a run can take. */
    notRunSeconds: 1_800,
    /** Share of the items acted on within 6 hours that failed again, were rejected, or are still present. */
    unhelpfulRatio: 0.3,
    /** Minimum actions with a known outcome for a meaningful share. */
    minOutcomes: 10,
    /**
     * Age of a pending plan, in seconds. The default of `engine.approvals.expireAfter` leaves an hour to approve it.
     */
    approvalSeconds: 10_800,
    /** Rejected callbacks within 15 minutes; the service retries rejected callbacks. */
    rejectedCallbacks: 5,
    /** Share of failed requests to a receiver of notifications. */
    failedNotificationsRatio: 0.5,
    /** Minimum failed requests to a receiver within 15 minutes for a meaningful share. */
    minFailedNotifications: 3,
  },
  replicas: {
    /** Takeovers of an account within an hour. An upgrade of a few replicas needs about one for each replica. */
    takeovers: 10,
  },
  daemon: {
    /** Starts of the process within an hour. */
    restarts: 3,
    /** Time from the last commit to the last reading, which should have ended with a commit, seconds. */
    notSavedSeconds: 900,
    /** Free space divided by the size of the store: a backup and the write-ahead log each need that size. */
    storeFreeFactor: 2,
    /** Time until the volume of the store is full, at the pace of the last 6 hours, seconds. */
    storeFullSeconds: 86_400,
    /** Number of backup intervals without a success. */
    backupIntervals: 2,
    /** Busy share of the event loop: above it everything is late. */
    eventLoopRatio: 0.9,
    /** Resident memory in bytes: 80 % of the limit of the shipped Deployment (512 MiB). Change both together. */
    residentBytes: 429_496_729,
    /** Used share of the file descriptors. */
    fileDescriptorsRatio: 0.8,
    /** Used share of `telemetry.metrics.maxSeries`; the last tenth is reserved for the daemon's own metrics. */
    seriesRatio: 0.8,
    /** Age of the oldest span that waits for export, seconds. Receivers reject or cannot find old spans. */
    spansLagSeconds: 600,
    /** Time until the certificate of a listener expires, seconds: 14 days to renew it. */
    certificateLeftSeconds: 1_209_600,
  },
} as const;
