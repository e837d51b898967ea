/**
 * What the metrics of the log must say, worked out from the service's own log message by message, by other means than
 * the daemon's: whole lives, read at the end, without faults.
 */
import type { LogProgress } from '../../src/domain/observation.ts';
import type { TotalsStore } from '../../src/folds/totals.ts';
import type { Exposition } from './exposition.ts';

export interface TruthRow {
  readonly time: number;
  readonly messageId: string;
  readonly state: string;
  readonly nextDeliveryTime?: number;
  readonly responseStatus?: number;
}

/** Observations and their sum in seconds. */
type Measured = readonly [count: number, sum: number];

export interface LogTruth {
  readonly states: Readonly<Record<string, number>>;
  readonly created: number;
  readonly finished: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly attempts: number;
  readonly failedAttempts: number;
  readonly inFlight: number;
  readonly delivery: Measured;
  readonly attempt: Measured;
  readonly wait: Measured;
  readonly retryDelay: Measured;
  readonly deliveryAttempts: Measured;
}

/** @param rows every entry, in the order in which the service wrote them */
export function logTruth(rows: readonly TruthRow[]): LogTruth {
  const states: Record<string, number> = {};
  const lives = new Map<string, TruthRow[]>();
  for (const row of rows) {
    states[row.state] = (states[row.state] ?? 0) + 1;
    const life = lives.get(row.messageId);
    if (life === undefined) lives.set(row.messageId, [row]);
    else life.push(row);
  }
  const delivery: number[] = [];
  const attempt: number[] = [];
  const wait: number[] = [];
  const retryDelay: number[] = [];
  const deliveryAttempts: number[] = [];
  let finished = 0;
  for (const life of lives.values()) {
    let due = 0;
    let begun = 0;
    let tries = 0;
    const first = Math.max(life[0]!.time, life[0]!.nextDeliveryTime ?? 0);
    for (const { state, time, nextDeliveryTime } of life) {
      if (state === 'CREATED') due = first;
      if (state === 'ACTIVE') {
        wait.push(time - due);
        begun = time;
      }
      if (state === 'ERROR' || state === 'DELIVERED') {
        attempt.push(time - begun);
        tries += 1;
      }
      if (state === 'ERROR' && nextDeliveryTime !== undefined) {
        retryDelay.push(nextDeliveryTime - time);
        due = nextDeliveryTime;
      }
      if (state === 'DELIVERED') {
        delivery.push(time - first);
        deliveryAttempts.push(tries);
      }
    }
    if (life.some(({ state }) => ['DELIVERED', 'FAILED', 'CANCELLED'].includes(state))) finished += 1;
  }
  return {
    states,
    created: states['CREATED'] ?? 0,
    finished,
    failed: states['FAILED'] ?? 0,
    cancelled: states['CANCELLED'] ?? 0,
    attempts: (states['ERROR'] ?? 0) + (states['DELIVERED'] ?? 0),
    failedAttempts: states['ERROR'] ?? 0,
    inFlight: lives.size - finished,
    delivery: measured(delivery, 1_000),
    attempt: measured(attempt, 1_000),
    wait: measured(wait, 1_000),
    retryDelay: measured(retryDelay, 1_000),
    deliveryAttempts: measured(deliveryAttempts, 1),
  };
}

/** The same, as the daemon's metrics tell it. */
export function toldByMetrics(metrics: Exposition): LogTruth {
  return told({
    states: metrics.all('msgsvc_log_events_total').map(({ labels, value }) => [labels['state']!, value]),
    counter: (name) => metrics.sum(name),
    histogram: (name) => [metrics.sum(`${name}_count`), metrics.sum(`${name}_sum`)],
    inFlight: metrics.sum('msgsvc_messages_in_flight'),
  });
}

/** The same, as the store and the collector's last batch tell it. */
export function toldByStore(totals: TotalsStore, account: string, { inFlight = [] }: LogProgress): LogTruth {
  const counters = totals.counters(account);
  const histograms = totals.histograms(account);
  const add = (sum: number, value: number): number => sum + value;
  return told({
    states: counters
      .filter(({ metric }) => metric === 'msgsvc_log_events_total')
      .map(({ labels, value }) => [labels[0]!, value]),
    counter: (name) =>
      counters
        .filter(({ metric }) => metric === name)
        .map(({ value }) => value)
        .reduce(add, 0),
    histogram: (name) => {
      const found = histograms.filter(({ metric }) => metric === name);
      return [found.flatMap(({ buckets }) => buckets).reduce(add, 0), found.map(({ sum }) => sum).reduce(add, 0)];
    },
    inFlight: inFlight.map(({ messages }) => messages).reduce(add, 0),
  });
}

interface Told {
  readonly states: readonly (readonly [state: string, count: number])[];
  readonly counter: (name: string) => number;
  readonly histogram: (name: string) => Measured;
  readonly inFlight: number;
}

function told({ states, counter, histogram: raw, inFlight }: Told): LogTruth {
  const histogram = (name: string): Measured => {
    const [count, sum] = raw(name);
    return [count, Math.round(sum * 1_000) / 1_000];
  };
  return {
    states: Object.fromEntries(states.filter(([, count]) => count > 0)),
    created: counter('msgsvc_messages_created_total'),
    finished: counter('msgsvc_messages_finished_total'),
    failed: counter('msgsvc_message_failures_total'),
    cancelled: counter('msgsvc_message_cancellations_total'),
    attempts: counter('msgsvc_message_attempts_total'),
    failedAttempts: counter('msgsvc_message_attempt_failures_total'),
    inFlight,
    delivery: histogram('msgsvc_message_delivery_duration_seconds'),
    attempt: histogram('msgsvc_message_attempt_duration_seconds'),
    wait: histogram('msgsvc_message_queue_wait_seconds'),
    retryDelay: histogram('msgsvc_message_retry_delay_seconds'),
    deliveryAttempts: histogram('msgsvc_message_delivery_attempts'),
  };
}

function measured(amounts: readonly number[], scale: number): Measured {
  const sum = amounts.reduce((total, amount) => total + Math.max(0, amount), 0);
  return [amounts.length, Math.round((sum / scale) * 1_000) / 1_000];
}
