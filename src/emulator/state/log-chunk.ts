/** A stretch of the message log. */
import { STRETCH } from './column-scan.ts';
import type { Message, Outcome, State } from './message.ts';
import { LOG_COLUMNS, STATE_CODES, Stretch, type Codes } from './stretch.ts';

export interface LogEntry {
  /** Position that a cursor names. It increases by one with every entry of the account. */
  readonly sequence: number;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly state: State;
  readonly message: Message;
  /** Epoch milliseconds; only on entries that wait for a delivery. */
  readonly nextDeliveryTime: number | undefined;
  /** Outcome of the attempt that this entry reports. */
  readonly outcome: Outcome | undefined;
}

const STATES = new Map(Object.entries(STATE_CODES).map(([state, code]) => [code, state as State]));

export class LogChunk extends Stretch {
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** NaN for none. */
  readonly #nextDeliveryTimes = new Float64Array(STRETCH);

  constructor(first: number, codes: Codes) {
    super(first, { codes, columns: LOG_COLUMNS });
  }

  get length(): number {
    return this.messages.length;
  }

  /** @param label code of the message's labels, held for this entry */
  push({ time, message, state, outcome, nextDeliveryTime }: Omit<LogEntry, 'sequence'>, label: number): void {
    const at = this.length;
    this.put(at, { message, time, label });
    this.set('state', at, STATE_CODES[state]);
    this.#outcomes.push(outcome);
    this.#nextDeliveryTimes[at] = nextDeliveryTime ?? NaN;
  }

  entry(at: number): LogEntry {
    const next = this.#nextDeliveryTimes[at]!;
    return {
      sequence: this.first + at,
      time: this.times[at]!,
      state: STATES.get(this.value('state', at))!,
      message: this.messages[at]!,
      nextDeliveryTime: Number.isNaN(next) ? undefined : next,
      outcome: this.#outcomes[at],
    };
  }
}
