/**
 * A stretch of rows that filters scan: 512 log entries or dead letters. Every filterable value is a number in a column,
 * so a filter reads only numbers. A row becomes an object when it is read.
 */
import { STRETCH } from './column-scan.ts';
import type { FailureFunctionState } from './failure-function-state.ts';
import type { Message, State } from './message.ts';
import { LabelCodes, ValueCodes } from './value-codes.ts';

/** Index of each column. The log has the columns up to `state`, dead letters have all. */
export const COLUMN = {
  messageId: 0,
  url: 1,
  topicName: 2,
  scheduleId: 3,
  queueName: 4,
  label: 5,
  state: 6,
  responseStatus: 7,
  runId: 8,
  runCreatedAt: 9,
  callerIp: 10,
  flowControlKey: 11,
} as const;
export type Field = keyof typeof COLUMN;

const ALL_COLUMNS = Object.keys(COLUMN).length;
export const LOG_COLUMNS = COLUMN.responseStatus;

/** Fields whose texts come from the message itself. */
const OF_MESSAGE = ['url', 'topicName', 'scheduleId', 'queueName'] as const;
/** Fields that a later change can rename. */
const RENAMED = ['scheduleId', 'queueName'] as const;
export type TextField = (typeof OF_MESSAGE)[number] | 'callerIp' | 'flowControlKey';

/** The texts of one account, shared by its log and its dead letters. Each is held by the rows that contain it. */
export type Codes = Readonly<Record<TextField, ValueCodes>> & { readonly label: LabelCodes };

export function createCodes(): Codes {
  return {
    url: new ValueCodes(),
    topicName: new ValueCodes(),
    scheduleId: new ValueCodes(),
    queueName: new ValueCodes(),
    callerIp: new ValueCodes(),
    flowControlKey: new ValueCodes(),
    label: new LabelCodes(),
  };
}

/**
 * Codes of states. Log entries have the state of their message at that time, dead letters that of their failure
 * function; 0 is none.
 */
export const STATE_CODES: Readonly<Record<State | FailureFunctionState, number>> = {
  CREATED: 1,
  ACTIVE: 2,
  RETRY: 3,
  ERROR: 4,
  DELIVERED: 5,
  FAILED: 6,
  CANCEL_REQUESTED: 7,
  CANCELLED: 8,
  CALLBACK_INPROGRESS: 9,
  CALLBACK_SUCCESS: 10,
  CALLBACK_FAIL: 11,
  CALLBACK_CANCELED: 12,
};

export class Stretch {
  /** Position of the first row. */
  readonly first: number;
  /** Undefined for a removed row, or an unused place. */
  readonly messages: (Message | undefined)[] = [];
  /** Epoch milliseconds. */
  readonly times = new Float64Array(STRETCH);
  earliest = Infinity;
  latest = -Infinity;
  /** Values, column by column. One array of one type keeps the loops over it fast. */
  readonly values: Uint32Array;
  protected readonly codes: Codes;

  constructor(first: number, { codes, columns = ALL_COLUMNS }: { readonly codes: Codes; readonly columns?: number }) {
    this.first = first;
    this.codes = codes;
    this.values = new Uint32Array(columns * STRETCH);
  }

  /** @param label code of the message's labels, held for this row */
  put(
    at: number,
    { message, time, label }: { readonly message: Message; readonly time: number; readonly label: number },
  ): void {
    // The place may be beyond the end, because the rows between were removed.
    while (this.messages.length <= at) this.messages.push(undefined);
    this.messages[at] = message;
    this.times[at] = time;
    this.earliest = Math.min(this.earliest, time);
    this.latest = Math.max(this.latest, time);
    this.set('messageId', at, hashOf(message.id));
    for (const field of OF_MESSAGE) this.set(field, at, this.codes[field].hold(message[field]));
    this.set('label', at, label);
  }

  value(field: Field, at: number): number {
    return this.values[COLUMN[field] * STRETCH + at]!;
  }

  set(field: Field, at: number, value: number): void {
    this.values[COLUMN[field] * STRETCH + at] = value;
  }

  /** Updates a row after a change of its message's schedule or queue. */
  rename(at: number): void {
    const message = this.messages[at]!;
    for (const field of RENAMED) {
      const before = this.value(field, at);
      this.set(field, at, this.codes[field].hold(message[field]));
      this.codes[field].release(before);
    }
  }

  /** Releases the texts of a removed row. */
  release(at: number): void {
    this.codes.label.release(this.value('label', at));
    for (const field of OF_MESSAGE) this.codes[field].release(this.value(field, at));
  }
}

/**
 * Returns a number that equal values share: the low half of a time, the last characters of an id. Ids are random up to
 * their last character, so a few characters distinguish nearly all of them.
 */
export function hashOf(value: string | number): number {
  if (typeof value === 'number') return value >>> 0;
  let hash = 0;
  for (let at = Math.max(0, value.length - 6); at < value.length; at++) hash = (hash * 61 + value.charCodeAt(at)) >>> 0;
  return hash;
}
