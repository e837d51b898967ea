/** Series of both contestants of the scrape benchmark: destinations with their counters, failures and durations. */
import { FAILURE_REASONS } from '#foundation/domain/reason.ts';
import { specOf } from '#observe/catalog/catalog.ts';

export const COUNTERS = [
  'msgsvc_messages_created_total',
  'msgsvc_messages_finished_total',
  'msgsvc_message_cancellations_total',
  'msgsvc_message_attempts_total',
] as const;
export const FAILURES = ['msgsvc_message_failures_total', 'msgsvc_message_attempt_failures_total'] as const;
export const REASONS = FAILURE_REASONS.filter((reason) => reason !== 'http');
export const HISTOGRAM = 'msgsvc_message_delivery_duration_seconds';
export const BUCKETS: readonly number[] = specOf(HISTOGRAM).buckets!;

/** Number of series of one destination. A histogram has its buckets, +Inf, sum and count. */
const COUNTERS_OF_ONE = COUNTERS.length + FAILURES.length * REASONS.length;
const HISTOGRAM_OF_ONE = BUCKETS.length + 3;

export const ACCOUNT = 'production';

/** Returns hosts for about this number of series, with a histogram each or without. */
export function destinations(series: number, histograms: boolean): readonly string[] {
  const length = Math.round(series / (COUNTERS_OF_ONE + (histograms ? HISTOGRAM_OF_ONE : 0)));
  return Array.from({ length }, (_, at) => `host-${at}.customers.example.com`);
}

/** Returns one in ten, evenly spread, so that every part of the text changes. */
export function oneInTen(all: readonly string[]): readonly string[] {
  return all.filter((_, at) => at % 10 === 3);
}

export interface Ask {
  readonly what: 'change' | 'begin' | 'end' | 'memory';
  /**
   * `busy` measures the CPU time of the loop's thread. `longest` keeps the loop running, which shows the longest turn.
   */
  readonly how?: 'longest' | 'busy';
}

export interface Told {
  /** Milliseconds, or the bytes of the series and their text on the heap and outside of it. */
  readonly value: number;
}

export interface Ready {
  readonly port: number;
}
