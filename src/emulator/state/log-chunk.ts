/**
 * A stretch of the message log, column after column: a filter looks at the numbers of its column and at nothing else,
 * and an entry becomes an object only when somebody reads it.
 */
import { STRETCH } from './column-scan.ts';
import type { Message, Outcome, State } from './message.ts';
import type { LabelCodes, ValueCodes } from './value-codes.ts';

export const CHUNK = STRETCH;

export interface LogEntry {
  /** Grows by one with every entry of the account: the position a cursor names. */
  readonly sequence: number;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly state: State;
  readonly message: Message;
  /** Epoch milliseconds; on what waits for a delivery. */
  readonly nextDeliveryTime: number | undefined;
  /** Of the attempt that this entry tells of. */
  readonly outcome: Outcome | undefined;
}

/** The texts of one log; `labels` are sets of them. */
export interface LogCodes {
  readonly url: ValueCodes;
  readonly topicName: ValueCodes;
  readonly scheduleId: ValueCodes;
  readonly queueName: ValueCodes;
  readonly labels: LabelCodes;
}

export const STATE_CODES: Readonly<Record<State, number>> = {
  CREATED: 0,
  ACTIVE: 1,
  RETRY: 2,
  ERROR: 3,
  DELIVERED: 4,
  FAILED: 5,
  CANCEL_REQUESTED: 6,
  CANCELLED: 7,
};
/** Columns that hold codes of texts, or hashes; the number is the column's place among them. */
export const COLUMN = { idHash: 0, url: 1, topicName: 2, scheduleId: 3, queueName: 4, labels: 5 } as const;
export type CodeColumn = (typeof COLUMN)[keyof typeof COLUMN];
const COLUMNS = Object.keys(COLUMN).length;
/** Of each column's sketch, a power of two. */
const SKETCH_BITS = 1_024;

const STATES = Object.keys(STATE_CODES) as readonly State[];

export class LogChunk {
  /** Sequence of the first entry. */
  readonly first: number;
  length = 0;
  earliest = Infinity;
  latest = -Infinity;
  readonly times = new Float64Array(CHUNK);
  readonly messages: Message[] = [];
  readonly states = new Uint8Array(CHUNK);
  /**
   * Column after column: that of ids has hashes of them, so that what has another hash is another message. One array of
   * one type for all columns keeps the loops over them tight.
   */
  readonly codes = new Uint32Array(COLUMNS * CHUNK);
  /** A bit for each state that is here. */
  stateBits = 0;
  /** For each column, bits of the values that are here or have been: one that is not set is of none. */
  readonly #sketches = new Uint32Array((COLUMNS * SKETCH_BITS) / 32);
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** NaN for none. */
  readonly #nextDeliveryTimes = new Float64Array(CHUNK);

  constructor(first: number) {
    this.first = first;
  }

  /** `labels` is the code of the message's labels, held for this entry */
  push(
    entry: Omit<LogEntry, 'sequence'>,
    { codes, labels }: { readonly codes: LogCodes; readonly labels: number },
  ): void {
    const at = this.length++;
    const { time, message } = entry;
    this.times[at] = time;
    this.earliest = Math.min(this.earliest, time);
    this.latest = Math.max(this.latest, time);
    this.messages.push(message);
    this.states[at] = STATE_CODES[entry.state];
    this.stateBits |= 1 << STATE_CODES[entry.state];
    this.#set(COLUMN.idHash, at, hashOfId(message.id));
    this.#set(COLUMN.url, at, codes.url.hold(message.url));
    this.#set(COLUMN.topicName, at, codes.topicName.hold(message.topicName));
    this.#set(COLUMN.scheduleId, at, codes.scheduleId.hold(message.scheduleId));
    this.#set(COLUMN.queueName, at, codes.queueName.hold(message.queueName));
    this.#set(COLUMN.labels, at, labels);
    this.#outcomes.push(entry.outcome);
    this.#nextDeliveryTimes[at] = entry.nextDeliveryTime ?? NaN;
  }

  entry(at: number): LogEntry {
    const next = this.#nextDeliveryTimes[at]!;
    return {
      sequence: this.first + at,
      time: this.times[at]!,
      state: STATES[this.states[at]!]!,
      message: this.messages[at]!,
      nextDeliveryTime: Number.isNaN(next) ? undefined : next,
      outcome: this.#outcomes[at],
    };
  }

  /** After a change of the message's schedule or queue. */
  rename(message: Message, codes: LogCodes): void {
    for (let at = 0; at < this.length; at++) {
      if (this.messages[at] !== message) continue;
      for (const name of ['scheduleId', 'queueName'] as const) {
        const before = this.code(COLUMN[name], at);
        this.#set(COLUMN[name], at, codes[name].hold(message[name]));
        codes[name].release(before);
      }
    }
  }

  code(column: CodeColumn, at: number): number {
    return this.codes[column * CHUNK + at]!;
  }

  /** False when no entry has the value; true when one may have it. */
  mayHold(column: CodeColumn, value: number): boolean {
    const bit = bitOf(column, value);
    return ((this.#sketches[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
  }

  #set(column: CodeColumn, at: number, value: number): void {
    this.codes[column * CHUNK + at] = value;
    const bit = bitOf(column, value);
    this.#sketches[bit >>> 5]! |= 1 << (bit & 31);
  }

  /** Lets go of the texts of all entries. */
  release(codes: LogCodes): void {
    for (let at = 0; at < this.length; at++) {
      codes.url.release(this.code(COLUMN.url, at));
      codes.topicName.release(this.code(COLUMN.topicName, at));
      codes.scheduleId.release(this.code(COLUMN.scheduleId, at));
      codes.queueName.release(this.code(COLUMN.queueName, at));
      codes.labels.release(this.code(COLUMN.labels, at));
    }
  }
}

/** Codes that follow each other fall on different bits, and hashes anywhere. */
function bitOf(column: CodeColumn, value: number): number {
  return column * SKETCH_BITS + ((value ^ (value >>> 10)) & (SKETCH_BITS - 1));
}

/** Ids are random to their last letter: a few of them tell nearly all messages apart. */
export function hashOfId(id: string): number {
  let hash = 0;
  for (let at = Math.max(0, id.length - 6); at < id.length; at++) hash = (hash * 61 + id.charCodeAt(at)) >>> 0;
  return hash;
}
