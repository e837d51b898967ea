/** What a listing of the log asks for, as conditions that narrow a chunk's entries column by column. */
import { gatherAll, gatherEqual, keepBits, keepEach, keepEqual, keepSmall } from './column-scan.ts';
import { CHUNK, COLUMN, hashOfId, STATE_CODES, type CodeColumn, type LogChunk, type LogCodes } from './log-chunk.ts';
import type { Message, State } from './message.ts';

/** All that is given must hold; nothing given is every entry. */
export interface LogFilter {
  readonly message?: Message | undefined;
  /** Only the latest entry of each message. */
  readonly latest?: boolean | undefined;
  /** Of messages that are in any of these states now. */
  readonly present?: readonly State[] | undefined;
  /** Any of them. */
  readonly states?: readonly State[] | undefined;
  readonly url?: string | undefined;
  readonly topicName?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly queueName?: string | undefined;
  /** Entries with any of them. */
  readonly labels?: ReadonlySet<string> | undefined;
}

export type Condition =
  | { readonly kind: 'equal'; readonly column: CodeColumn; readonly code: number }
  /** A bit for each code that fits. */
  | { readonly kind: 'labels'; readonly bits: Uint32Array }
  /** A bit for each state that fits. */
  | { readonly kind: 'states'; readonly bits: number }
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'latest' }
  | { readonly kind: 'present'; readonly states: readonly State[] };

/** What narrows most for the least comes first. Undefined when no entry of the log can match. */
export function conditionsOf(filter: LogFilter, codes: LogCodes): readonly Condition[] | undefined {
  const conditions: Condition[] = [];
  const { message, states, labels, present } = filter;
  if (message !== undefined) conditions.push({ kind: 'equal', column: COLUMN.idHash, code: hashOfId(message.id) });
  for (const name of ['url', 'topicName', 'scheduleId', 'queueName'] as const) {
    const text = filter[name];
    if (text === undefined) continue;
    const code = codes[name].find(text);
    if (code === undefined) return undefined;
    conditions.push({ kind: 'equal', column: COLUMN[name], code });
  }
  if (labels !== undefined) {
    const wanted = codes.labels.findAny(labels);
    if (wanted === undefined) return undefined;
    const isOne = typeof wanted === 'number';
    conditions.push(isOne ? { kind: 'equal', column: COLUMN.labels, code: wanted } : { kind: 'labels', bits: wanted });
  }
  if (states !== undefined) {
    conditions.push({ kind: 'states', bits: states.reduce((all, state) => all | (1 << STATE_CODES[state]), 0) });
  }
  if (message !== undefined) conditions.push({ kind: 'message', message });
  if (filter.latest === true) conditions.push({ kind: 'latest' });
  if (present !== undefined) conditions.push({ kind: 'present', states: present });
  return conditions;
}

/** False when no entry of the chunk fits, as far as that is seen without looking at them. */
export function mayFit(conditions: readonly Condition[], chunk: LogChunk): boolean {
  for (const condition of conditions) {
    if (condition.kind === 'equal' && !chunk.mayHold(condition.column, condition.code)) return false;
    if (condition.kind === 'states' && (chunk.stateBits & condition.bits) === 0) return false;
  }
  return true;
}

/** Keeps of the first `count` places those whose entry fits; returns how many. */
export function keep(condition: Condition, chunk: LogChunk, count: number): number {
  switch (condition.kind) {
    case 'equal':
      return keepEqual(chunk.codes, condition.column * CHUNK, condition.code, count);
    case 'labels':
      return keepBits(chunk.codes, COLUMN.labels * CHUNK, condition.bits, count);
    case 'states':
      return keepSmall(chunk.states, condition.bits, count);
    case 'message':
      return keepEach((at) => chunk.messages[at] === condition.message, count);
    case 'latest':
      return keepEach((at) => chunk.messages[at]!.lastEntry === chunk.first + at, count);
    case 'present':
      return keepEach((at) => condition.states.includes(chunk.messages[at]!.state), count);
  }
}

/** The same of all before `length`: the first look at a chunk. */
export function gather(condition: Condition, chunk: LogChunk, length: number): number {
  if (condition.kind !== 'equal') return keep(condition, chunk, gatherAll(length));
  return gatherEqual(chunk.codes, condition.column * CHUNK, condition.code, length);
}
