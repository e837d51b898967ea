/**
 * Counts that one commit of the log aggregation adds, summed while its entries are processed. Each destination has its own
 * object, so an entry costs a few additions and labels are built only at the end.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { CounterName } from '../catalog/catalog.ts';
import { Gathered, type LogHistogram, type Observed } from './log-histograms.ts';
import type { HistogramIncrement, Increment } from './totals.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Counters of the log reader itself, without labels. */
export const READER_COUNTERS = [
  'opsd_log_pages_total',
  'opsd_log_windows_halved_total',
  'opsd_log_watermark_resets_total',
  'opsd_log_duplicate_entries_total',
  'opsd_log_late_entries_total',
  'opsd_log_invalid_entries_total',
  'opsd_log_unjoined_deliveries_total',
  'opsd_log_unjoined_attempts_total',
  'opsd_log_revised_durations_total',
  'opsd_messages_abandoned_total',
] as const satisfies readonly CounterName[];

type Single = (typeof READER_COUNTERS)[number];

type PerDestination =
  | 'msgsvc_messages_created_total'
  | 'msgsvc_messages_finished_total'
  | 'msgsvc_message_cancellations_total'
  | 'msgsvc_message_attempts_total';

type Failures = 'msgsvc_message_failures_total' | 'msgsvc_message_attempt_failures_total';

/** Counts of one destination. */
export class DestinationCounts {
  readonly #label: string;
  readonly #counts = new Map<PerDestination, number>();
  readonly #failures = new Map<Failures, Map<string, Map<string, number>>>();
  readonly #gathered = new Map<LogHistogram, Gathered>();

  constructor(label: string) {
    this.#label = label;
  }

  add(metric: PerDestination): void {
    this.#counts.set(metric, (this.#counts.get(metric) ?? 0) + 1);
  }

  addFailure(metric: Failures, reason: string, code: string): void {
    const byReason = getOrAdd(this.#failures, metric, () => new Map<string, Map<string, number>>());
    const byCode = getOrAdd(byReason, reason, () => new Map<string, number>());
    byCode.set(code, (byCode.get(code) ?? 0) + 1);
  }

  observe(metric: LogHistogram, ms: number, observed: Observed): void {
    getOrAdd(this.#gathered, metric, () => new Gathered(metric)).observe(ms, observed);
  }

  *increments(): Generator<Increment> {
    for (const [metric, by] of this.#counts) yield { metric, labels: [this.#label], by };
    for (const [metric, byReason] of this.#failures) {
      for (const [reason, byCode] of byReason) {
        for (const [code, by] of byCode) yield { metric, labels: [this.#label, reason, code], by };
      }
    }
  }

  *histograms(): Generator<HistogramIncrement> {
    for (const gathered of this.#gathered.values()) yield gathered.increment([this.#label]);
  }
}

/**
 * Returns the label for a value: the value itself, or the label that it is aggregated into. `amount` is the number of
 * occurrences.
 */
export type Admit = (label: 'destination' | 'value', value: string, amount?: number) => string;

export class LogCounts {
  readonly #admit: Admit;
  readonly #dimension: string | undefined;
  readonly #single = new Map<Single, number>();
  readonly #states = new Map<MessageState, number>();
  readonly #values = new Map<string, Map<MessageState, number>>();
  readonly #gathered = new Map<LogHistogram, Gathered>();
  readonly #labels = new Map<string, DestinationCounts>();
  /** Counts by original destination, admitted or not. */
  readonly #destinations = new Map<string, DestinationCounts>();
  /** Occurrences of destinations that are not exported under their own name. */
  readonly #renamed = new Map<string, number>();

  constructor(admit: Admit, dimension: string | undefined) {
    this.#admit = admit;
    this.#dimension = dimension;
  }

  get admit() {
    return this.#admit;
  }

  add(metric: Single, by: number): void {
    if (by > 0) this.#single.set(metric, (this.#single.get(metric) ?? 0) + by);
  }

  addState(state: MessageState): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
  }

  /** Adds the counts by state of another object. */
  addStates(other: LogCounts): void {
    for (const [state, by] of other.#states) this.#states.set(state, (this.#states.get(state) ?? 0) + by);
  }

  /** Counts a value of the configured dimension. */
  addValue(value: string, state: MessageState): void {
    const byState = getOrAdd(this.#values, this.#admit('value', value), () => new Map<MessageState, number>());
    byState.set(state, (byState.get(state) ?? 0) + 1);
  }

  observe(metric: LogHistogram, amount: number, observed: Observed): void {
    getOrAdd(this.#gathered, metric, () => new Gathered(metric)).observe(amount, observed);
  }

  of(destination: string): DestinationCounts {
    const counts = getOrAdd(this.#destinations, destination, () => {
      // The amount is passed at the end.
      const label = this.#admit('destination', destination, 0);
      if (label !== destination) this.#renamed.set(destination, 0);
      return getOrAdd(this.#labels, label, () => new DestinationCounts(label));
    });
    if (this.#renamed.size > 0) {
      const times = this.#renamed.get(destination);
      if (times !== undefined) this.#renamed.set(destination, times + 1);
    }
    return counts;
  }

  /** Returns the increments. Must be called once. */
  increments(): Increment[] {
    for (const [destination, times] of this.#renamed) this.#admit('destination', destination, times);
    const increments: Increment[] = [];
    for (const [metric, by] of this.#single) increments.push({ metric, labels: [], by });
    for (const [state, by] of this.#states) increments.push({ metric: 'msgsvc_log_events_total', labels: [state], by });
    for (const [value, byState] of this.#values) {
      for (const [state, by] of byState) {
        increments.push({
          metric: 'msgsvc_log_events_by_dimension_total',
          labels: [this.#dimension ?? '', value, state],
          by,
        });
      }
    }
    for (const counts of this.#labels.values()) increments.push(...counts.increments());
    return increments;
  }

  histograms(): HistogramIncrement[] {
    const histograms = [...this.#gathered.values()].map((gathered) => gathered.increment([]));
    for (const counts of this.#labels.values()) histograms.push(...counts.histograms());
    return histograms;
  }
}
