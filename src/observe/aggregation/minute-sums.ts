/**
 * Sums of the log by the minute of the entries' own time. The history of the charts has these sums, and those of hours.
 * Deliveries of canaries have their own sums: the service's statistics include them, and charts do not.
 */
import { DELIVERY_DURATION_BOUNDS } from '#foundation/domain/delivery-durations.ts';
import type { MessageState } from '#foundation/domain/log-entry.ts';

const MINUTE_MS = 60_000;

/** States whose entries are summed. */
const SUMMED_STATES = ['CREATED', 'DELIVERED', 'ERROR', 'CANCELLED'] as const satisfies readonly MessageState[];
const STATES = SUMMED_STATES.map((state) => state.toLowerCase());
const DURATIONS = [...DELIVERY_DURATION_BOUNDS, Infinity].map((_bound, index) => `d${index}`);

/** Columns of the sums: entries by state, ends and retries, deliveries by duration, and entries of canaries by state. */
export const SUM_COLUMNS = [...STATES, 'failed', 'retried', ...DURATIONS, ...STATES.map((state) => `canary_${state}`)];

const FAILED = STATES.length;
const RETRIED = FAILED + 1;
const FIRST_DURATION = RETRIED + 1;
const FIRST_OF_CANARIES = FIRST_DURATION + DURATIONS.length;

export interface MinuteSum {
  /** Epoch milliseconds at which the minute begins. */
  readonly minute: number;
  /** Values of `SUM_COLUMNS`. */
  readonly values: readonly number[];
}

export class MinuteSums {
  readonly #minutes = new Map<number, number[]>();
  /** Most recently used minute. Entries are mostly adjacent. */
  #minute = NaN;
  #values: number[] = [];

  addEntry(time: number, state: MessageState): void {
    const column = (SUMMED_STATES as readonly MessageState[]).indexOf(state);
    if (column !== -1) this.#add(time, column);
  }

  /** Adds a message that finally failed. */
  addFailed(time: number): void {
    this.#add(time, FAILED);
  }

  /** Adds a failed attempt that will be retried. */
  addRetried(time: number): void {
    this.#add(time, RETRIED);
  }

  /** @param ms time between the due time and the delivery */
  addDuration(time: number, ms: number): void {
    const bucket = DELIVERY_DURATION_BOUNDS.findIndex((bound) => ms <= bound * 1_000);
    this.#add(time, FIRST_DURATION + (bucket === -1 ? DELIVERY_DURATION_BOUNDS.length : bucket));
  }

  /** Adds the entries of canaries, which are summed separately. */
  addCanaries(canaries: MinuteSums): void {
    for (const [minute, values] of canaries.#minutes) {
      for (const index of STATES.keys()) this.#add(minute, FIRST_OF_CANARIES + index, values[index]);
    }
  }

  all(): MinuteSum[] {
    return [...this.#minutes].map(([minute, values]) => ({ minute, values }));
  }

  #add(time: number, column: number, by = 1): void {
    const minute = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    if (minute !== this.#minute) {
      this.#minute = minute;
      const known = this.#minutes.get(minute);
      this.#values = known ?? SUM_COLUMNS.map(() => 0);
      if (known === undefined) this.#minutes.set(minute, this.#values);
    }
    this.#values[column]! += by;
  }
}

/** Entries of one hour by state, with those of canaries. */
export function entriesByState(values: readonly number[]): ReadonlyMap<MessageState, number> {
  return new Map(
    SUMMED_STATES.map((state, index) => [state, values[index]! + values[FIRST_OF_CANARIES + index]!] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}
