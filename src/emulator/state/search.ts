/**
 * Pages of rows that match a filter. A filter becomes conditions on columns, which narrow each stretch one after the
 * other: at most a few milliseconds for a million rows, whether many, few or none match.
 */
import { gatherAll, gatherEqual, keepBits, keepEach, keepEqual, places, STRETCH } from './column-scan.ts';
import type { FailureFunctionState } from './failure-function-state.ts';
import type { Message, State } from './message.ts';
import { COLUMN, hashOf, STATE_CODES, type Codes, type Field, type Stretch, type TextField } from './stretch.ts';
import { codeSet, type CodeSet } from './value-codes.ts';

/** Rows match when they have one of the values of every given field. */
export interface Filter extends Readonly<Partial<Record<TextField | 'label', ReadonlySet<string> | undefined>>> {
  readonly messageId?: string | undefined;
  readonly runId?: string | undefined;
  /** Epoch milliseconds. */
  readonly runCreatedAt?: number | undefined;
  readonly state?: ReadonlySet<string> | undefined;
  readonly responseStatus?: ReadonlySet<number> | undefined;
}

/** Range of time and positions of a listing. */
export interface Window {
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, inclusive. */
  readonly to: number;
  readonly order: 'newest' | 'oldest';
  /** Selects only rows beyond this position, in the order of the listing. */
  readonly after?: number | undefined;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The last row, if more follow. */
  readonly last?: Row;
}

interface Condition {
  /** Start of the column. */
  readonly base: number;
  readonly codes: CodeSet;
}

type Check = (message: Message, position: number) => boolean;

export interface Search {
  /** Conditions, with the most selective and cheapest ones first. */
  readonly conditions: readonly Condition[];
  /** Checks of the rows that meet the conditions. */
  readonly checks: readonly Check[];
}

/** Columns of these fields contain hashes: rows with equal ones can have other values. */
const HASHED = {
  messageId: ({ id }: Message) => id,
  runId: ({ workflow }: Message) => workflow?.runId,
  runCreatedAt: ({ workflow }: Message) => workflow?.createdAt,
} as const;
const HASHED_FIELDS = Object.keys(HASHED) as (keyof typeof HASHED)[];
const FIELDS = Object.keys(COLUMN) as Field[];
const MAX_STATUS = 999;

/** Returns undefined when no row can match. */
export function searchFor(filter: Filter, codes: Codes, more: readonly Check[] = []): Search | undefined {
  const conditions: Condition[] = [];
  const checks: Check[] = [...more];
  for (const field of FIELDS) {
    if (filter[field] === undefined) continue;
    const found = codesOf(field, filter, codes);
    if (found === undefined) return undefined;
    conditions.push({ base: COLUMN[field] * STRETCH, codes: found });
  }
  for (const field of HASHED_FIELDS) {
    const value = filter[field];
    if (value !== undefined) checks.push((message) => HASHED[field](message) === value);
  }
  conditions.sort((a, b) => Number(typeof a.codes !== 'number') - Number(typeof b.codes !== 'number'));
  return { conditions, checks };
}

function codesOf(field: Field, filter: Filter, codes: Codes): CodeSet | undefined {
  if (field === 'messageId' || field === 'runId' || field === 'runCreatedAt') return hashOf(filter[field]!);
  if (field === 'state') {
    return codeSet([...filter.state!].map((state) => STATE_CODES[state as State | FailureFunctionState]));
  }
  if (field === 'responseStatus') return codeSet([...filter.responseStatus!].filter((status) => status <= MAX_STATUS));
  return codes[field].findAny(filter[field]!);
}

/** Returns the first `count` rows of a window that match. */
export function pageOf<S extends Stretch, Row>(
  stretches: readonly S[],
  options: {
    readonly window: Window;
    readonly search: Search | undefined;
    readonly count: number;
    readonly read: (stretch: S, at: number) => Row;
  },
): Page<Row> {
  const { window, search, count, read } = options;
  const rows: Row[] = [];
  if (search === undefined) return { rows };
  const newest = window.order === 'newest';
  for (const stretch of newest ? stretches.toReversed() : stretches) {
    if (!mayMatch(stretch, window)) continue;
    const found = scan(stretch, search, window);
    for (let place = 0; place < found; place++) {
      if (rows.length === count) return { rows, last: rows.at(-1)! };
      rows.push(read(stretch, places[newest ? found - 1 - place : place]!));
    }
  }
  return { rows };
}

function mayMatch({ first, earliest, latest }: Stretch, { from, to, order, after }: Window): boolean {
  if (latest < from || earliest > to) return false;
  if (after === undefined) return true;
  return order === 'newest' ? first < after : first + STRETCH > after;
}

/** Writes the places of the matching rows to `places`, oldest first. Returns their number. */
function scan(stretch: Stretch, { conditions, checks }: Search, { from, to, order, after }: Window): number {
  const { values, messages, times, first: position } = stretch;
  const begin = order === 'oldest' && after !== undefined ? after + 1 - position : 0;
  const end = order === 'newest' && after !== undefined ? after - position : Infinity;
  const [first, ...rest] = conditions;
  const isDirect = typeof first?.codes === 'number';
  let count = isDirect ? gatherEqual(values, first.base, first.codes, messages.length) : gatherAll(messages.length);
  for (const { base, codes } of isDirect ? rest : conditions) {
    count = typeof codes === 'number' ? keepEqual(values, base, codes, count) : keepBits(values, base, codes, count);
  }
  return keepEach((at) => {
    const message = messages[at];
    if (message === undefined || at < begin || at >= end || times[at]! < from || times[at]! > to) return false;
    return checks.every((check) => check(message, position + at));
  }, count);
}
