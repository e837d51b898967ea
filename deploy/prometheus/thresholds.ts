/**
 * Every threshold once: rules and dashboards take them from here. Change a number, run `npm run rules` and
 * `npm run dashboards`, and look whether `npm test` still agrees. Ratios are 0 to 1; units stand in the names.
 */

/** Folder of the runbooks; the page of an alert is its name and `.md`. docs/alerts.md shows how to replace it. */
export const RUNBOOKS = 'https://msgsvc-opsd.example/runbooks/';
/** Grafana with the shipped dashboards; replaced in the same way. */
export const GRAFANA = 'https://msgsvc-opsd.example/grafana/';

/**
 * How far back a gauge is looked for. Gauges of a source that is not read are withheld: an alert must not resolve for
 * that, and the alert about the source itself has fired long before this ends.
 */
export const GAUGE_RANGE = '15m';

/**
 * Alerts on what is counted, and on gauges that are absent when all is well, go on for so long after their condition:
 * a source that is not read anymore looks to them like one where nothing happens.
 */
export const KEEP_FIRING = '15m';

/** What is promised, as the share that is good. One minus it is the error budget. */
export const OBJECTIVES = {
  /** Messages that end by delivery, of all that end uncancelled. What fails for good is lost unless somebody acts. */
  delivered: 0.99,
  /** Attempts that succeed. Failed ones are retried, so this may be looser; below it retries cost money and time. */
  attempts: 0.95,
} as const;

/** Windows over which failures are recorded: each is the long or the short one of a burn rate below. */
export const BURN_WINDOWS = ['5m', '15m', '30m', '1h', '2h', '6h', '1d', '3d'] as const;
export type BurnWindow = (typeof BURN_WINDOWS)[number];

export interface BurnRate {
  /** How many times faster than allowed the error budget is used. Times the budget it must stay below 1: no ratio is above. */
  readonly factor: number;
  readonly long: BurnWindow;
  /** Ends the alert soon after the failures end. */
  readonly short: BurnWindow;
  /** Minimum age of the account or destination: at least half of the long window. A younger one has no such rate. */
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
 * A partial outage: 15 % of the attempts within 15 minutes, or 8 % within an hour. Attempts fail at once, messages only
 * when their retries are used up, so this is seen first.
 */
export const PARTIAL_OUTAGE: readonly BurnRate[] = [
  { factor: 3, long: '15m', short: '5m', known: '8m', least: 4 },
  { factor: 1.6, long: '1h', short: '5m', known: '30m', least: 10 },
];

export const THRESHOLDS = {
  deliveries: {
    /** Failed share of attempts from which a destination counts as failing wholly; under 1, since increases are estimates. */
    downRatio: 0.95,
    /**
     * Attempts that all failed, which make a destination down. Within 5 minutes one message with quick retries may have as
     * many, which is why the alert waits for as long again.
     */
    down: { window: '5m', attempts: 5 },
    /** Within the hour, and some in each of the last two quarters: a burst that nothing follows is no outage. */
    downSlowly: { window: '1h', attempts: 10, quarter: '15m' },
    /** Likewise, of a destination that gets a few messages a day. */
    downLittleTraffic: { window: '6h', attempts: 3 },
    /** Attempts in the same half hour a day ago, and in the 6 hours before, from which none at all is a stop. */
    stopped: { attemptsADayAgo: 30, attemptsBefore: 60 },
  },
  latency: {
    /** Share of observations that the latency thresholds below are about. */
    quantile: 0.95,
    /** Observations within 15 minutes, below which a quantile says nothing. */
    minObservations: 20,
    /** Duration of an attempt, seconds: a destination this slow is near common timeouts. A bound of the histogram. */
    attemptSeconds: 10,
    /** Wait before an attempt, seconds: the service or flow control is late. A bound of the histogram. */
    queueWaitSeconds: 60,
    /** From due to delivered, seconds, retries included. A bound of the histogram. */
    deliverySeconds: 300,
    /** A message that is due and not delivered for so long, seconds. */
    overdueSeconds: { warning: 900, critical: 3_600 },
  },
  dlq: {
    /** Share of the DLQ's capacity; what comes when it is full may be lost. */
    fullRatio: { warning: 0.8, critical: 0.95 },
    /** Messages by which the DLQ grew within an hour. */
    growthMessages: 100,
  },
  workflows: {
    /** Failed runs that came and did not leave within an hour, of one workflow. */
    growthRuns: 20,
    /** Age of the oldest failed run, seconds (2 days): nobody looks, and retention goes on. */
    oldestSeconds: 172_800,
    /** Runs that expire within 24 hours: one is one too many. */
    expiringRuns: 1,
    /** Failed runs held whose failure function failed as well. */
    failureFunctionRuns: 1,
  },
  flowControl: {
    /** Share of half an hour with messages that wait for the key's limit. */
    saturatedRatio: 0.9,
    /** Messages that wait while a key is paused. */
    pausedBacklogMessages: 1,
  },
  spend: {
    /** Share of the known monthly budget that is used up; at 1 the service may stop. */
    budgetUsedRatio: { warning: 0.9, critical: 1 },
    /** Forecast of the month over the known budget. */
    forecastRatio: 1,
    /** Until the budget is used up at the current pace, seconds: 3 days are time to decide. */
    exhaustionSeconds: 259_200,
    /** Billing of the last 24 hours over the mean day of the week before. */
    anomalyFactor: 2,
    /** Dollars that the last 24 hours must be above that mean day: doubling a cent is no anomaly. */
    anomalyDollars: 10,
    /** Share of the requests that are allowed a day. At 1 of the hard limit the service may reject requests. */
    dayRequestsRatio: { near: 0.9, reached: 1 },
  },
  search: {
    /** Vectors that wait to be indexed: searches do not find them yet. */
    pendingVectors: 10_000,
    /** Share of a quota of an index (vectors, queries and updates a day, reranks and bandwidth a month). */
    quotaRatio: 0.8,
  },
  api: {
    /** Share of the daemon's requests that the service answers with 429. */
    throttledRatio: 0.05,
    /** Share of the requests a day that the daemon allows itself; at 1 it reads no more until midnight UTC. */
    quotaRatio: 0.9,
  },
  collectors: {
    /** Share of the runs of a collector within half an hour that failed. */
    failedRatio: 0.5,
    /** Failed runs within half an hour, below which a share says nothing. */
    minFailedRuns: 3,
    /** How far counting is behind the message log, seconds. More than `collectors.logs.lag`, which may be set higher. */
    logsBehindSeconds: 900,
    /** Lag of the log, seconds, from which it counts as unread unless it catches up. */
    logUnreadSeconds: 3_600,
  },
  automation: {
    /** A hold of a policy, seconds. Most holds pass by themselves: a quota, a destination that is down. */
    heldSeconds: 7_200,
    /** After a run was due, seconds: more than the 10 minutes that a run may last. */
    notRunSeconds: 1_800,
    /** Share of what was acted on within 6 hours that failed again, was rejected, or is there still. */
    unhelpfulRatio: 0.3,
    /** Acts of which it is known what became of them, below which a share says nothing. */
    minOutcomes: 10,
    /** Age of a pending plan, seconds. The default of `engine.approvals.expireAfter` leaves an hour to approve it. */
    approvalSeconds: 10_800,
    /** Callbacks not taken within 15 minutes; the service sends a callback again that was not taken. */
    rejectedCallbacks: 5,
    /** Share of the requests to a receiver of notifications that failed. */
    failedNotificationsRatio: 0.5,
    /** Failed requests to such a receiver within 15 minutes, below which a share says nothing. */
    minFailedNotifications: 3,
  },
  daemon: {
    /** Starts of the process within an hour. */
    restarts: 3,
    /** From the last commit to the last reading that should have made one, seconds. */
    notSavedSeconds: 900,
    /** Free space over the size of the store: a backup and the write-ahead log need as much again. */
    storeFreeFactor: 2,
    /** Until the volume of the store is full at the pace of 6 hours, seconds. */
    storeFullSeconds: 86_400,
    /** Intervals of the scheduled backup without a success. */
    backupIntervals: 2,
    /** Share of the time that the event loop is busy: beyond it everything is late. */
    eventLoopRatio: 0.9,
    /** Resident memory, bytes: 80 % of the limit of the shipped Deployment (512 MiB). Change both together. */
    residentBytes: 429_496_729,
    /** Share of the file descriptors that the process may open. */
    fileDescriptorsRatio: 0.8,
    /** Share of `telemetry.metrics.maxSeries`: the last tenth takes the daemon's own metrics alone. */
    seriesRatio: 0.8,
    /** Age of the oldest span that waits to be exported, seconds. Receivers refuse or miss what is too old. */
    spansLagSeconds: 600,
    /** Until the certificate of a listener ends, seconds: 14 days are time to get another. */
    certificateLeftSeconds: 1_209_600,
  },
} as const;
