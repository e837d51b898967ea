/**
 * State of a destination, from its delivery attempts alone: every view and guard uses these rules. Pure; the same
 * attempts are the same state, after a restart too.
 */

const MINUTE_MS = 60_000;

/** Thresholds of the states. */
export const DESTINATION_RULES = {
  /** Window of a measured ratio, its minimum number of attempts, and the minimum share delivered in percent. */
  windowMs: 15 * MINUTE_MS,
  leastSample: 20,
  healthyPercent: 90,
  /** Conditions of an outage: minimum number of attempts, and an upper limit of the share delivered, in percent. */
  fewestFailing: 10,
  failingPercent: 10,
  /**
   * Minimum duration of an outage in minutes: retries take minutes, so a brief failure is not an outage. It does not
   * apply if enough messages failed finally.
   */
  fewestMinutes: 3,
  fewestLost: 10,
  /** Maximum age of an attempt that still shows the current state. */
  latelyMs: 60 * MINUTE_MS,
  /** Silence before the first failure after which that failure is treated as the start of the outage. */
  silentMs: 5 * MINUTE_MS,
  /** Time that a destination must deliver after an outage before it is healthy. */
  settleMs: 5 * MINUTE_MS,
} as const;

export const DESTINATION_STATES = ['unknown', 'healthy', 'degraded', 'failing', 'recovering'] as const;
/**
 * `unknown`: too few attempts. `degraded`: too many fail. `failing`: nearly all fail. `recovering`: it delivers again
 * after an outage, and has not settled yet.
 */
export type DestinationState = (typeof DESTINATION_STATES)[number];

/** Ended attempts of one minute. Times are epoch milliseconds. */
export interface AttemptMinute {
  /** Start of the minute, in the entries' own time. */
  readonly minute: number;
  readonly delivered: number;
  readonly failed: number;
  /** First failed attempt; Infinity if none failed. */
  readonly failedFrom: number;
  /** Number of messages that finally failed. */
  readonly lost: number;
}

export interface AttemptFacts {
  /** Returns the minutes with attempts, newest first. */
  readonly minutes: () => Iterable<AttemptMinute>;
  /** Attempts are counted from here until `until`, in epoch milliseconds. */
  readonly from: number;
  readonly until: number;
}

export interface DestinationStatus {
  readonly state: DestinationState;
  /** Attempts that show the state, and the start of the time that they cover. */
  readonly delivered: number;
  readonly all: number;
  readonly since: number;
}

/** Returns the failure that the attempts show. It starts after the last minute when half of them were delivered. */
export function outageOf({ minutes, from, until }: AttemptFacts): Omit<Outage, 'host' | 'reasons'> | undefined {
  const { fewestFailing, fewestMinutes, fewestLost, latelyMs, silentMs } = DESTINATION_RULES;
  const newest = minuteOf(until);
  const sum = { delivered: 0, failed: 0, lost: 0, since: newest, lastAt: 0 };
  let failedMinutes = 0;
  let isStartSeen = false;
  let isDown = false;
  for (const { minute, delivered, failed, failedFrom, lost } of minutes()) {
    if (delivered + failed > 0 && delivered >= failed) {
      isStartSeen = true;
      break;
    }
    const isEnough = sum.delivered + sum.failed >= fewestFailing;
    sum.delivered += delivered;
    sum.failed += failed;
    sum.lost += lost;
    if (failed === 0) continue;
    failedMinutes += 1;
    sum.since = failedFrom;
    sum.lastAt ||= minute;
    // The newest attempts must fail, too.
    if (isEnough || sum.delivered + sum.failed < fewestFailing) continue;
    if (!isMostlyFailed(sum)) return undefined;
    isDown = true;
  }
  const isLasting = failedMinutes >= fewestMinutes || sum.lost >= fewestLost;
  if (!isDown || !isMostlyFailed(sum) || !isLasting || newest - sum.lastAt > latelyMs) return undefined;
  return { ...sum, isSinceKnown: isStartSeen || sum.since - minuteOf(from) >= silentMs };
}

export function destinationStatus(facts: AttemptFacts): DestinationStatus {
  const { settleMs, windowMs, leastSample } = DESTINATION_RULES;
  const failure = outageOf(facts);
  if (failure !== undefined) {
    const { delivered, failed, since } = failure;
    return { state: 'failing', delivered, all: delivered + failed, since };
  }
  const good = sumWhile(facts, ({ delivered, failed }) => delivered >= failed);
  const isAfterFailure = good.all > 0 && outageOf(before(facts, good.since)) !== undefined;
  const since = minuteOf(facts.until - windowMs);
  const sample = { ...sumWhile(facts, ({ minute }) => minute >= since), since };
  const isLittle = sample.all < leastSample;
  if (isAfterFailure && (isLittle || facts.until - good.since < windowMs)) {
    const isSettled = facts.until - good.since >= settleMs && isHealthy(good);
    return { state: isSettled ? 'healthy' : 'recovering', ...good };
  }
  if (isLittle) return { state: 'unknown', ...sample };
  return { state: isHealthy(sample) ? 'healthy' : 'degraded', ...sample };
}

/** Returns the attempts of the newest minutes, up to the first minute that does not belong to them. */
function sumWhile(
  { minutes, until }: AttemptFacts,
  belongs: (minute: AttemptMinute) => boolean,
): Omit<DestinationStatus, 'state'> {
  const sum = { delivered: 0, all: 0, since: until };
  for (const minute of minutes()) {
    if (!belongs(minute)) break;
    sum.delivered += minute.delivered;
    sum.all += minute.delivered + minute.failed;
    sum.since = minute.minute;
  }
  return sum;
}

/** Returns the facts as they were at an earlier time. */
function before(facts: AttemptFacts, until: number): AttemptFacts {
  return { ...facts, until, minutes: () => [...facts.minutes()].filter(({ minute }) => minute < until) };
}

/** Returns true if enough of the attempts were delivered. */
export function isHealthy({ delivered, all }: Pick<DestinationStatus, 'delivered' | 'all'>): boolean {
  return delivered * 100 >= all * DESTINATION_RULES.healthyPercent;
}

/** Returns true if enough attempts are known, and nearly all of them failed. */
export function isFailing({ delivered, all }: Pick<DestinationStatus, 'delivered' | 'all'>): boolean {
  return all >= DESTINATION_RULES.fewestFailing && isMostlyFailed({ delivered, failed: all - delivered });
}

function isMostlyFailed({ delivered, failed }: { readonly delivered: number; readonly failed: number }): boolean {
  return delivered * 100 < DESTINATION_RULES.failingPercent * (delivered + failed);
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS;
}

/** Destination that fails nearly every delivery attempt, from the service's log. Times are epoch milliseconds. */
export interface Outage {
  /** Host, with its port if it is not the scheme's default. */
  readonly host: string;
  /** First failed attempt. */
  readonly since: number;
  /** False if attempts may have failed earlier, before the daemon observed them. */
  readonly isSinceKnown: boolean;
  /** Minute of the newest failure. */
  readonly lastAt: number;
  /** Attempts since the first failure. */
  readonly failed: number;
  readonly delivered: number;
  /** Messages that finally failed since then. */
  readonly lost: number;
  /** Reasons, most frequent first: `HTTP 503`, `timeout`, … */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[];
}
