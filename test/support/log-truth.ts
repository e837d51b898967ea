/**
 * Expected metrics of the log, computed from the service's own log message by message. The code is independent of the
 * daemon's: it reads complete lives at the end, without faults, for each series with its labels and buckets.
 */
import { catalog } from '#observe/catalog/catalog.ts';
import type { LogHistogram } from '#observe/aggregation/log-counts.ts';
import type { Exposition } from './exposition.ts';
import type { LogRow } from './service.ts';

/** Values by name and label values, separated by spaces. Series that never counted anything are omitted. */
export interface LogTruth {
  readonly counters: Readonly<Record<string, number>>;
  /** The sum, then the cumulative count of each bound, the last without one. */
  readonly histograms: Readonly<Record<string, readonly number[]>>;
  /** Messages by destination. */
  readonly inFlight: Readonly<Record<string, number>>;
}

const COUNTERS: Readonly<Record<string, readonly string[]>> = {
  msgsvc_log_events_total: ['state'],
  msgsvc_messages_created_total: ['destination'],
  msgsvc_messages_finished_total: ['destination'],
  msgsvc_message_cancellations_total: ['destination'],
  msgsvc_message_attempts_total: ['destination'],
  msgsvc_message_failures_total: ['destination', 'reason', 'code'],
  msgsvc_message_attempt_failures_total: ['destination', 'reason', 'code'],
};

const HISTOGRAMS: Readonly<Record<LogHistogram, readonly string[]>> = {
  msgsvc_message_delivery_duration_seconds: ['destination'],
  msgsvc_message_attempt_duration_seconds: ['destination'],
  msgsvc_message_queue_wait_seconds: ['destination'],
  msgsvc_message_delivery_attempts: [],
  msgsvc_message_retry_delay_seconds: [],
};

const ENDS = ['DELIVERED', 'FAILED', 'CANCELLED'];

/** @param rows every entry, in the order in which the service wrote them */
export function logTruth(rows: Iterable<LogRow>): LogTruth {
  const truth = new Truth();
  const lives = new Map<string, LogRow[]>();
  for (const row of rows) {
    truth.count(`msgsvc_log_events_total ${row.state}`);
    if (isOfCanary(row)) continue;
    const life = lives.get(row.messageId);
    if (life === undefined) lives.set(row.messageId, [row]);
    else life.push(row);
  }
  for (const life of lives.values()) live(life, truth);
  return truth.told();
}

/** Canaries and their callbacks are not counted as messages. */
function isOfCanary({ labels, url }: LogRow): boolean {
  return labels?.includes('opsd-canary') === true || url.includes('/hooks/canary/');
}

function live(life: readonly LogRow[], truth: Truth): void {
  const [created] = life;
  const destination = destinationOf(created!);
  const first = Math.max(created!.time, created!.nextDeliveryTime ?? 0);
  let due = first;
  let begun = 0;
  let tries = 0;
  let lastError = '';
  for (const { state, time, nextDeliveryTime, responseStatus, error } of life) {
    if (state === 'CREATED') truth.count(`msgsvc_messages_created_total ${destination}`);
    if (state === 'CANCELLED') truth.count(`msgsvc_message_cancellations_total ${destination}`);
    if (state === 'ACTIVE') {
      truth.measure(`msgsvc_message_queue_wait_seconds ${destination}`, time - due);
      begun = time;
    }
    if (state === 'ERROR' || state === 'DELIVERED') {
      truth.count(`msgsvc_message_attempts_total ${destination}`);
      truth.measure(`msgsvc_message_attempt_duration_seconds ${destination}`, time - begun);
      tries += 1;
    }
    if (state === 'ERROR') {
      lastError = responseStatus === undefined ? `${reasonOf(error ?? '')} ` : `http ${responseStatus}`;
      truth.count(`msgsvc_message_attempt_failures_total ${destination} ${lastError}`);
    }
    if (state === 'ERROR' && nextDeliveryTime !== undefined) {
      truth.measure('msgsvc_message_retry_delay_seconds', nextDeliveryTime - time);
      due = nextDeliveryTime;
    }
    if (state === 'FAILED') truth.count(`msgsvc_message_failures_total ${destination} ${lastError}`);
    if (state === 'DELIVERED') {
      truth.measure(`msgsvc_message_delivery_duration_seconds ${destination}`, time - first);
      truth.measure('msgsvc_message_delivery_attempts', tries);
    }
  }
  if (life.some(({ state }) => ENDS.includes(state))) truth.count(`msgsvc_messages_finished_total ${destination}`);
  else truth.fly(destination);
}

function destinationOf({ topicName, queueName, url }: LogRow): string {
  return topicName ?? queueName ?? new URL(url).host;
}

/** Returns the reason of an error of the tests' destinations that gave no response. */
function reasonOf(error: string): string {
  return /timed out/.test(error) ? 'timeout' : 'connection';
}

class Truth {
  readonly #counters = new Map<string, number>();
  readonly #histograms = new Map<string, { ms: number; readonly buckets: number[] }>();
  readonly #inFlight = new Map<string, number>();

  count(series: string): void {
    this.#counters.set(series, (this.#counters.get(series) ?? 0) + 1);
  }

  fly(destination: string): void {
    this.#inFlight.set(destination, (this.#inFlight.get(destination) ?? 0) + 1);
  }

  /** @param amount milliseconds, or a number */
  measure(series: string, amount: number): void {
    const name = series.split(' ')[0] as LogHistogram;
    const bounds = [...catalog[name].buckets!, Infinity];
    let shape = this.#histograms.get(series);
    if (shape === undefined) this.#histograms.set(series, (shape = { ms: 0, buckets: bounds.map(() => 0) }));
    const counted = Math.max(0, amount);
    shape.ms += counted;
    bounds.forEach((bound, at) => (shape.buckets[at]! += counted <= bound * scaleOf(name) ? 1 : 0));
  }

  told(): LogTruth {
    const histograms = [...this.#histograms].map(([series, { ms, buckets }]) => {
      const sum = ms / scaleOf(series.split(' ')[0]!);
      return [series, [rounded(sum), ...buckets]] as const;
    });
    return {
      counters: Object.fromEntries(this.#counters),
      histograms: Object.fromEntries(histograms),
      inFlight: Object.fromEntries(this.#inFlight),
    };
  }
}

function scaleOf(metric: string): number {
  return metric.endsWith('_seconds') ? 1_000 : 1;
}

/** Rounds sums to whole milliseconds. */
function rounded(sum: number): number {
  return Math.round(sum * 1_000) / 1_000;
}

/** Returns the same from the daemon's metrics. */
export function toldByMetrics(metrics: Exposition): LogTruth {
  const nameOf = (metric: string, names: readonly string[], labels: Readonly<Record<string, string>>): string =>
    [metric, ...names.map((name) => labels[name]!)].join(' ');
  const counters = Object.entries(COUNTERS).flatMap(([metric, names]) =>
    metrics.all(metric).map(({ labels, value }) => [nameOf(metric, names, labels), value] as const),
  );
  const histograms = Object.entries(HISTOGRAMS).flatMap(([metric, names]) =>
    metrics.all(`${metric}_sum`).map(({ labels, value }) => {
      const buckets = metrics
        .all(`${metric}_bucket`, labels)
        .map(({ labels: { le }, value: count }) => [le === '+Inf' ? Infinity : Number(le), count] as const)
        .toSorted(([a], [b]) => a - b);
      return [nameOf(metric, names, labels), [rounded(value), ...buckets.map(([, count]) => count)]] as const;
    }),
  );
  const inFlight = metrics
    .all('msgsvc_messages_in_flight')
    .map(({ labels, value }) => [labels['destination']!, value] as const);
  return {
    counters: Object.fromEntries(counters.filter(([, value]) => value > 0)),
    histograms: Object.fromEntries(histograms.filter(([, told]) => told.at(-1)! > 0)),
    inFlight: Object.fromEntries(inFlight.filter(([, messages]) => messages > 0)),
  };
}
