/**
 * Effects of faults on the filters of a request and on the JSON of a response. Rows are the entries of `logs` and of
 * `messages`, and the points of statistics.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { Fault } from '../types/public.ts';

type AnswerKind = 'repeated-cursor' | 'missing-fields' | 'seconds' | 'late' | 'duplicate' | 'missing';
type AnswerFault = Extract<Fault, { readonly kind: AnswerKind }>;

export interface AnswerFacts {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly random: Random;
  readonly query: URLSearchParams;
  /** The request without page and window. Requests of equal questions continue each other. */
  readonly question: string;
  /** Entries that the next response repeats, by question. The rule keeps this map. */
  readonly again: Map<string, readonly Row[]>;
}

const MOMENTS = ['time', 'createdAt', 'updatedAt', 'nextDeliveryTime', 'workflowCreatedAt'];

/** Parameters that are not filters. */
const PAGING = ['cursor', 'count', 'period'];

/** Maximum number of questions with entries to repeat. */
const MOST_QUESTIONS = 1_000;

/** Returns the part of a request that is equal from page to page and from poll to poll. */
export function questionOf(accountId: string, path: string, query: URLSearchParams): string {
  const filters = [...query].filter(([name]) => !PAGING.includes(name) && name !== 'fromDate' && name !== 'toDate');
  return JSON.stringify([accountId, path, filters]);
}

/** Removes the filters of these names, or all filters. */
export function changeQuery(query: URLSearchParams, names: readonly string[] | undefined): URLSearchParams {
  const isDropped = (name: string): boolean => names?.includes(name) ?? !PAGING.includes(name);
  return new URLSearchParams([...query].filter(([name]) => !isDropped(name)));
}

/** @returns the changed `json`; `json` itself under any other fault */
export function changeAnswer(fault: Fault, json: unknown, facts: AnswerFacts): unknown {
  const known = fault as AnswerFault;
  switch (known.kind) {
    case 'repeated-cursor': {
      const cursor = facts.query.get('cursor') ?? '';
      return isRecord(json) && cursor !== '' ? { ...json, cursor } : json;
    }
    case 'missing-fields':
      return walkFields(json, (name, value) => (known.fields.includes(name) ? undefined : value));
    case 'seconds': {
      const fields = known.fields ?? MOMENTS;
      return walkFields(json, (name, value) =>
        typeof value === 'number' && fields.includes(name) ? Math.floor(value / 1_000) : value,
      );
    }
    case 'late':
      return walkRows(json, (rows) =>
        rows.filter((row) => !(momentOf(row) > facts.now - known.ms && lotOf(row) < (known.share ?? 1))),
      );
    case 'duplicate':
      if (known.when === 'later') return withEntriesOfBefore(json, known.share ?? 1, facts);
      return walkRows(json, (rows) =>
        rows.flatMap((row) => (facts.random() < (known.share ?? 1) ? [row, row] : [row])),
      );
    case 'missing':
      return walkRows(json, (rows) => rows.filter((row) => lotOf(row) >= known.share));
    default:
      return json;
  }
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Repeats the entries of the previous response. Each entry is repeated once: a repeated entry is not kept for the next
 * response.
 */
function withEntriesOfBefore(json: unknown, share: number, { question, again, query, random }: AnswerFacts): unknown {
  const name = isRecord(json) ? ['logs', 'messages'].find((list) => Array.isArray(json[list])) : undefined;
  if (!isRecord(json) || name === undefined) return json;
  const rows = json[name] as readonly Row[];
  const [from, to] = [Number(query.get('fromDate') ?? -Infinity), Number(query.get('toDate') || Infinity)];
  const before = (again.get(question) ?? []).filter((row) => momentOf(row) >= from && momentOf(row) <= to);
  again.delete(question);
  again.set(
    question,
    rows.filter(() => random() < share),
  );
  for (const oldest of again.keys()) {
    if (again.size <= MOST_QUESTIONS) break;
    again.delete(oldest);
  }
  return { ...json, [name]: [...before, ...rows] };
}

function isRecord(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Applies `change` to every field of every object, from the outside in. Undefined removes the field. */
function walkFields(json: unknown, change: (name: string, value: unknown) => unknown): unknown {
  if (Array.isArray(json)) return json.map((item) => walkFields(item, change));
  if (!isRecord(json)) return json;
  const fields = Object.entries(json).map(([name, value]) => [name, walkFields(change(name, value), change)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Applies `change` to every list of rows. */
function walkRows(json: unknown, change: (rows: readonly Row[]) => readonly Row[]): unknown {
  if (Array.isArray(json)) return json.map((item) => walkRows(item, change));
  if (!isRecord(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      const isList = Array.isArray(value) && value.every(isRecord);
      const areRows = isList && (name === 'logs' || name === 'messages' || value.every((item) => 'x' in item));
      return [name, areRows ? change(value) : walkRows(value, change)];
    }),
  );
}

/** Returns the time of a row's event; NaN for a row without a time. */
function momentOf(row: Row): number {
  const time = row['time'] ?? row['createdAt'];
  if (typeof time === 'number') return time;
  const point = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(String(row['x']));
  return point === null ? NaN : Date.parse(`${point[1]}T${point[2]}Z`);
}

/** Returns a number from 0 to 1 that is always the same for a row. */
function lotOf(row: Row): number {
  const name = [row['messageId'], row['dlqId'], row['time'], row['state'], row['x']].join(' ');
  let hash = 2_166_136_261;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 16_777_619);
  // Mixes the bits, so that the last characters matter as much as the first.
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507);
  return ((hash ^ (hash >>> 13)) >>> 0) / 4_294_967_296;
}
