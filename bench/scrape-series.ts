/** What both contestants of the scrape benchmark show: destinations with their counters, failures and durations. */
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

/** Series of one destination: a histogram has its buckets, +Inf, sum and count. */
const COUNTERS_OF_ONE = COUNTERS.length + FAILURES.length * REASONS.length;
const HISTOGRAM_OF_ONE = BUCKETS.length + 3;

export const ACCOUNT = 'production';

/** Hosts for about so many series, with a histogram each or without. */
export function destinations(series: number, histograms: boolean): readonly string[] {
  const length = Math.round(series / (COUNTERS_OF_ONE + (histograms ? HISTOGRAM_OF_ONE : 0)));
  return Array.from({ length }, (_, at) => `host-${at}.customers.example.com`);
}

/** One in ten, spread over all of them: no neighbourhood stays as it was. */
export function oneInTen(all: readonly string[]): readonly string[] {
  return all.filter((_, at) => at % 10 === 3);
}

export interface Ask {
  readonly what: 'change' | 'begin' | 'end' | 'memory';
  /** A loop that never rests sees the longest turn; without it the CPU time of the loop's thread is seen. */
  readonly how?: 'longest' | 'busy';
}

export interface Told {
  /** Milliseconds, or bytes on the heap and beside it that the series and their text take. */
  readonly value: number;
}

export interface Ready {
  readonly port: number;
}
