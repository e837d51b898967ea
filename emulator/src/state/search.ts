/** Pages of rows that match a filter: every row is checked, which takes a few milliseconds for 100,000. */
import type { Message } from './message.ts';

/** Fields of a message that filters compare with a set of values. */
const TEXTS = {
  url: ({ url }: Message) => url,
  topicName: ({ topicName }: Message) => topicName,
  scheduleId: ({ scheduleId }: Message) => scheduleId,
  queueName: ({ queueName }: Message) => queueName,
  callerIp: ({ delivery }: Message) => delivery.callerIp,
  flowControlKey: ({ delivery }: Message) => delivery.flowControl?.key,
} as const;
type TextField = keyof typeof TEXTS;

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

/** Returns the checks of all fields but `state`, which means something else in each listing. */
export function fieldChecks(filter: Filter): ((message: Message) => boolean)[] {
  const { messageId, runId, runCreatedAt, responseStatus, label } = filter;
  const checks: ((message: Message) => boolean)[] = [];
  if (messageId !== undefined) checks.push(({ id }) => id === messageId);
  if (runId !== undefined) checks.push(({ workflow }) => workflow?.runId === runId);
  if (runCreatedAt !== undefined) checks.push(({ workflow }) => workflow?.createdAt === runCreatedAt);
  if (responseStatus !== undefined) checks.push(({ lastOutcome }) => responseStatus.has(lastOutcome?.status ?? 0));
  for (const field of Object.keys(TEXTS) as TextField[]) {
    const values = filter[field];
    const textOf = TEXTS[field];
    if (values !== undefined) checks.push((message) => values.has(textOf(message) ?? ''));
  }
  if (label !== undefined) checks.push(({ delivery }) => delivery.labels.some((one) => label.has(one)));
  return checks;
}

/** Returns the first `count` rows of a window that match. The rows are in the order of their positions. */
export function pageOf<Row extends { readonly sequence: number }>(
  rows: readonly Row[],
  options: {
    readonly window: Window;
    readonly checks: readonly ((row: Row) => boolean)[];
    readonly count: number;
    /** Epoch milliseconds. */
    readonly timeOf: (row: Row) => number;
  },
): Page<Row> {
  const { window, checks, count, timeOf } = options;
  const { from, to, order, after = order === 'newest' ? Infinity : -Infinity } = window;
  const step = order === 'newest' ? -1 : 1;
  const found: Row[] = [];
  for (let at = order === 'newest' ? rows.length - 1 : 0; at >= 0 && at < rows.length; at += step) {
    const row = rows[at]!;
    const isBeyond = order === 'newest' ? row.sequence < after : row.sequence > after;
    const time = timeOf(row);
    if (!isBeyond || time < from || time > to || !checks.every((check) => check(row))) continue;
    if (found.length === count) return { rows: found, last: found.at(-1)! };
    found.push(row);
  }
  return { rows: found };
}
