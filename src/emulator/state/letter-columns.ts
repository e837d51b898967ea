/**
 * The values by which dead letters are found, as numbers in columns: a filter over 100,000 letters looks at numbers and
 * at nothing else, whether all of them match or none, and a letter becomes an object only when somebody reads it.
 */
import { gatherAll, gatherEqual, keepBits, keepEach, keepEqual, STRETCH } from './column-scan.ts';
import { failureFunctionState, type FailureFunctionState } from './failure-function-state.ts';
import { hashOfId, type LogCodes } from './log-chunk.ts';
import type { Message } from './message.ts';
import { ValueCodes } from './value-codes.ts';

const COLUMN = {
  messageId: 0,
  url: 1,
  topicName: 2,
  scheduleId: 3,
  queueName: 4,
  responseStatus: 5,
  runId: 6,
  runCreatedAt: 7,
  label: 8,
  callerIp: 9,
  flowControlKey: 10,
  failureState: 11,
} as const;
export type LetterField = keyof typeof COLUMN;
const COLUMNS = Object.keys(COLUMN).length;

/** Any of the values. */
export type LetterLookup = readonly [field: LetterField, values: ReadonlySet<string | number>];

/** Letters of a chunk, those that left counted. */
export const LETTERS = STRETCH;

/** No failure function is 0. One that is in progress is looked at again: it may have ended meanwhile. */
const FAILURE_CODES: Readonly<Record<FailureFunctionState, number>> = {
  CALLBACK_INPROGRESS: 1,
  CALLBACK_SUCCESS: 2,
  CALLBACK_FAIL: 3,
  CALLBACK_CANCELED: 4,
};

/** The texts of one queue: those that the log has too are one text for both. */
export class LetterCodes {
  readonly shared: LogCodes;
  readonly callerIp = new ValueCodes();
  readonly flowControlKey = new ValueCodes();

  constructor(shared: LogCodes) {
    this.shared = shared;
  }
}

export class LetterChunk {
  /** Undefined where a letter left, or never was. */
  readonly messages: (Message | undefined)[] = [];
  readonly failedAt = new Float64Array(LETTERS);
  readonly values = new Uint32Array(COLUMNS * LETTERS);
  /** Of letters that are there. */
  size = 0;

  put(at: number, { message, failedAt }: { message: Message; failedAt: number }, codes: LetterCodes): void {
    const { labels, callerIp, flowControl } = message.delivery;
    const { shared } = codes;
    // A letter's place may be beyond the end: the places between were left by others.
    while (this.messages.length <= at) this.messages.push(undefined);
    this.messages[at] = message;
    this.failedAt[at] = failedAt;
    this.size++;
    this.#set('messageId', at, hashOfId(message.id));
    this.#set('url', at, shared.url.hold(message.url));
    this.#set('topicName', at, shared.topicName.hold(message.topicName));
    this.#set('scheduleId', at, shared.scheduleId.hold(message.scheduleId));
    this.#set('queueName', at, shared.queueName.hold(message.queueName));
    this.#set('responseStatus', at, message.lastOutcome?.status ?? 0);
    this.#set('runId', at, message.workflow === undefined ? 0 : hashOfId(message.workflow.runId));
    this.#set('runCreatedAt', at, hashOfTime(message.workflow?.createdAt ?? 0));
    this.#set('label', at, shared.labels.hold(labels));
    this.#set('callerIp', at, codes.callerIp.hold(callerIp));
    this.#set('flowControlKey', at, codes.flowControlKey.hold(flowControl?.key));
    this.notice(at);
  }

  /** Looks at the failure function of a letter's message. */
  notice(at: number): void {
    const message = this.messages[at];
    const state = message && failureFunctionState(message);
    this.#set('failureState', at, state === undefined ? 0 : FAILURE_CODES[state]);
  }

  /** The same for all that were in progress. */
  noticeEnded(): void {
    const base = COLUMN.failureState * LETTERS;
    const { length } = this.messages;
    for (let at = 0; at < length; at++) {
      if (this.values[base + at] === FAILURE_CODES.CALLBACK_INPROGRESS) this.notice(at);
    }
  }

  /** After a change of the message's schedule or queue. */
  rename(at: number, { shared }: LetterCodes): void {
    const message = this.messages[at]!;
    for (const field of ['scheduleId', 'queueName'] as const) {
      const before = this.#value(field, at);
      this.#set(field, at, shared[field].hold(message[field]));
      shared[field].release(before);
    }
  }

  remove(at: number, { shared, callerIp, flowControlKey }: LetterCodes): void {
    this.messages[at] = undefined;
    this.size--;
    shared.url.release(this.#value('url', at));
    shared.topicName.release(this.#value('topicName', at));
    shared.scheduleId.release(this.#value('scheduleId', at));
    shared.queueName.release(this.#value('queueName', at));
    shared.labels.release(this.#value('label', at));
    callerIp.release(this.#value('callerIp', at));
    flowControlKey.release(this.#value('flowControlKey', at));
  }

  #value(field: LetterField, at: number): number {
    return this.values[COLUMN[field] * LETTERS + at]!;
  }

  #set(field: LetterField, at: number, value: number): void {
    this.values[COLUMN[field] * LETTERS + at] = value;
  }
}

/** The low half: equal times have equal ones. */
function hashOfTime(time: number): number {
  return time >>> 0;
}

/** One of `equal`, `bits` and `among` is there. */
interface LetterCondition {
  readonly field: LetterField;
  readonly equal?: number;
  /** A bit for each code that fits. */
  readonly bits?: Uint32Array;
  readonly among?: ReadonlySet<number>;
  /** Told for values that are hashes: equal ones may be of others. */
  readonly holds?: (message: Message) => boolean;
}

/** Undefined when no letter can meet them all. */
export function letterConditions(
  lookups: readonly LetterLookup[],
  codes: LetterCodes,
): readonly LetterCondition[] | undefined {
  const conditions = lookups.map((lookup) => conditionOf(lookup, codes)).filter((one) => one !== undefined);
  return conditions.length === lookups.length ? conditions : undefined;
}

function conditionOf([field, values]: LetterLookup, codes: LetterCodes): LetterCondition | undefined {
  const { shared } = codes;
  const given = [...values];
  switch (field) {
    case 'messageId':
      return { ...anyOf(field, given.map(String).map(hashOfId)), holds: ({ id }) => values.has(id) };
    case 'runId':
      return {
        ...anyOf(field, given.map(String).map(hashOfId)),
        holds: ({ workflow }) => values.has(workflow?.runId ?? ''),
      };
    case 'runCreatedAt':
      return {
        ...anyOf(field, given.map(Number).map(hashOfTime)),
        holds: ({ workflow }) => workflow !== undefined && values.has(workflow.createdAt),
      };
    case 'responseStatus':
      return anyOf(field, given.map(Number));
    case 'failureState':
      return anyOf(
        field,
        given.map((state) => FAILURE_CODES[state as FailureFunctionState]),
      );
    case 'label': {
      const sets = shared.labels.findAny(given.map(String));
      if (sets === undefined) return undefined;
      return typeof sets === 'number' ? { field, equal: sets } : { field, bits: sets };
    }
    case 'url':
    case 'topicName':
    case 'scheduleId':
    case 'queueName':
    case 'callerIp':
    case 'flowControlKey': {
      const known = field === 'callerIp' || field === 'flowControlKey' ? codes[field] : shared[field];
      const wanted = given.map((value) => known.find(String(value))).filter((code) => code !== undefined);
      return wanted.length === 0 ? undefined : anyOf(field, wanted);
    }
  }
}

function anyOf(field: LetterField, values: readonly number[]): LetterCondition {
  return values.length === 1 ? { field, equal: values[0]! } : { field, among: new Set(values) };
}

/** Puts the places of all letters that meet the conditions into `places`; returns how many. */
export function scanLetters(chunk: LetterChunk, conditions: readonly LetterCondition[]): number {
  const { length } = chunk.messages;
  const [first] = conditions;
  if (conditions.some(({ field }) => field === 'failureState')) chunk.noticeEnded();
  const direct = first?.equal !== undefined;
  let count = direct ? gatherEqual(chunk.values, baseOf(first), first.equal, length) : gatherAll(length);
  for (let index = direct ? 1 : 0; index < conditions.length && count > 0; index++) {
    count = keepMeeting(chunk, conditions[index]!, count);
  }
  for (const { holds } of conditions) {
    if (holds !== undefined && count > 0) count = keepEach((at) => holdsAt(chunk, at, holds), count);
  }
  return count;
}

function keepMeeting({ values }: LetterChunk, condition: LetterCondition, count: number): number {
  const { equal, bits, among } = condition;
  const base = baseOf(condition);
  if (equal !== undefined) return keepEqual(values, base, equal, count);
  if (bits !== undefined) return keepBits(values, base, bits, count);
  return keepEach((at) => among!.has(values[base + at]!), count);
}

function holdsAt({ messages }: LetterChunk, at: number, holds: (message: Message) => boolean): boolean {
  const message = messages[at];
  return message !== undefined && holds(message);
}

function baseOf({ field }: LetterCondition): number {
  return COLUMN[field] * LETTERS;
}
