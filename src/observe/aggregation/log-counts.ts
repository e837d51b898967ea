/**
 * Counts that one commit of the log aggregation adds, summed while its entries are processed. Each destination has its own
 * object, so an entry costs a few additions and labels are built only at the end.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { CounterName, HistogramName } from '../catalog/catalog.ts';
import type { logMetrics } from '../catalog/messages.ts';
import { Gathered, type Observed } from './gathered.ts';
import type { HistogramIncrement, Increment } from './totals.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { MinuteSums } from './minute-sums.ts';

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

type PerDestination =
  | 'msgsvc_messages_created_total'
  | 'msgsvc_messages_finished_total'
  | 'msgsvc_message_cancellations_total'
  | 'msgsvc_message_attempts_total';

type Failures = 'msgsvc_message_failures_total' | 'msgsvc_message_attempt_failures_total';

/** Name of a histogram that is counted from the log. */
export type LogHistogram = HistogramName & keyof typeof logMetrics;

/** Counts under the same labels. */
class Counts<C extends CounterName> {
  readonly #labels: readonly string[];
  readonly #counts = new Map<C, number>();
  readonly #gathered = new Map<LogHistogram, Gathered>();

  constructor(labels: readonly string[]) {
    this.#labels = labels;
  }

  add(metric: C, by = 1): void {
    if (by > 0) this.#counts.set(metric, (this.#counts.get(metric) ?? 0) + by);
  }

  observe(metric: LogHistogram, amount: number, observed: Observed): void {
    getOrAdd(this.#gathered, metric, () => new Gathered(metric)).observe(amount, observed);
  }

  increments(): Increment[] {
    return [...this.#counts].map(([metric, by]) => ({ metric, labels: this.#labels, by }));
  }

  histograms(): HistogramIncrement[] {
    return [...this.#gathered.values()].map((gathered) => gathered.increment(this.#labels));
  }
}

/** Counts of one destination. */
export class DestinationCounts extends Counts<PerDestination> {
  readonly #label: string;
  readonly #failures = new Map<Failures, Map<string, Map<string, number>>>();

  constructor(label: string) {
    super([label]);
    this.#label = label;
  }

  addFailure(metric: Failures, reason: string, code: string): void {
    const byReason = getOrAdd(this.#failures, metric, () => new Map<string, Map<string, number>>());
    const byCode = getOrAdd(byReason, reason, () => new Map<string, number>());
    byCode.set(code, (byCode.get(code) ?? 0) + 1);
  }

  override increments(): Increment[] {
    const increments = super.increments();
    for (const [metric, byReason] of this.#failures) {
      for (const [reason, byCode] of byReason) {
        for (const [code, by] of byCode) increments.push({ metric, labels: [this.#label, reason, code], by });
      }
    }
    return increments;
  }
}

/**
 * Returns the label for a value: the value itself, or the label that it is aggregated into. `amount` is the number of
 * occurrences.
 */
export type Admit = (label: 'destination' | 'value', value: string, amount?: number) => string;

export class LogCounts extends Counts<(typeof READER_COUNTERS)[number]> {
  readonly minutes = new MinuteSums();
  readonly #admit: Admit;
  readonly #dimension: string | undefined;
  readonly #states = new Map<MessageState, number>();
  readonly #values = new Map<string, Map<MessageState, number>>();
  readonly #labels = new Map<string, DestinationCounts>();
  /** Counts by original destination, admitted or not. */
  readonly #destinations = new Map<string, DestinationCounts>();
  /** Occurrences of destinations that are not exported under their own name. */
  readonly #renamed = new Map<string, number>();

  constructor(admit: Admit, dimension: string | undefined) {
    super([]);
    this.#admit = admit;
    this.#dimension = dimension;
  }

  addState(state: MessageState): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
  }

  /** Adds the counts by state of the canaries. */
  addCanaries(other: LogCounts): void {
    this.minutes.addCanaries(other.minutes);
    for (const [state, by] of other.#states) this.#states.set(state, (this.#states.get(state) ?? 0) + by);
  }

  /** Counts a value of the configured dimension. */
  addValue(value: string, state: MessageState): void {
    const byState = getOrAdd(this.#values, this.#admit('value', value), () => new Map<MessageState, number>());
    byState.set(state, (byState.get(state) ?? 0) + 1);
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
  override increments(): Increment[] {
    for (const [destination, times] of this.#renamed) this.#admit('destination', destination, times);
    const increments = super.increments();
    for (const [state, by] of this.#states) increments.push({ metric: 'msgsvc_log_events_total', labels: [state], by });
    for (const [value, byState] of this.#values) {
      for (const [state, by] of byState) {
        const labels = [this.#dimension ?? '', value, state];
        increments.push({ metric: 'msgsvc_log_events_by_dimension_total', labels, by });
      }
    }
    for (const counts of this.#labels.values()) increments.push(...counts.increments());
    return increments;
  }

  override histograms(): HistogramIncrement[] {
    return [...super.histograms(), ...[...this.#labels.values()].flatMap((counts) => counts.histograms())];
  }
}
