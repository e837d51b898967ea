/** Parses pages of the message log (interface 2.3). Bodies and headers of callbacks are not read. */
import { hash } from 'node:crypto';
import { MESSAGE_STATES, type InvalidLogRow, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';
import type { WireNames } from '../wire-names.ts';
import { labelsOf, parsePage, type RawPage } from './page.ts';
import {
  MalformedAnswer,
  optionalCount,
  optionalProse,
  optionalStatus,
  LONGEST_TEXT,
  optionalText,
  requireText,
  rowsOf,
  UnreadableField,
  Drops,
  type JsonObject,
} from './reader.ts';
import { storedHeaders } from './stored-headers.ts';
import { optionalTime, requireTime } from './time.ts';
import { withoutBodies } from './unread-bodies.ts';

const STATES: ReadonlySet<string> = new Set(MESSAGE_STATES);

const TEXTS = [
  'topicName',
  'endpointName',
  'queueName',
  'scheduleId',
  'method',
  'flowControlKey',
  'workflowRunId',
] as const satisfies readonly (keyof LogEntry)[];

export interface ParsedLogPage extends Omit<RawPage, 'page'> {
  readonly rows: readonly LogEntry[];
  /** Dropped rows that can be recognized. */
  readonly invalid: readonly InvalidLogRow[];
}

export function parseLogPage(body: Buffer, drops: Drops, names: WireNames): ParsedLogPage {
  const { page, ...rest } = parsePage(withoutBodies(body));
  const what = ['logs', 'events'].find((key) => page[key] !== undefined);
  if (what === undefined) throw new MalformedAnswer('it has neither logs nor events');
  const invalid: InvalidLogRow[] = [];
  const onDropped = (row: unknown): void => void invalid.push(...invalidRow(row));
  const rows = rowsOf(drops, page[what], { what, parse: (row) => parseEntry(row, names), onDropped });
  return { rows, invalid, ...rest };
}

/** Returns the identity of an invalid row. A row without id and time cannot be distinguished from others. */
function invalidRow(row: unknown): InvalidLogRow[] {
  if (typeof row !== 'object' || row === null) return [];
  const { messageId } = row as { readonly messageId?: unknown };
  const time = new Drops().field(() => optionalTime(row as JsonObject, 'time'));
  if (time === undefined && (messageId === undefined || messageId === null)) return [];
  return [{ identity: hash('sha256', JSON.stringify(row)), time }];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Parses an entry field by field instead of as a draft. A page has a hundred entries, and this is most of the cost of
 * reading the log.
 */
function parseEntry(row: JsonObject, names: WireNames): LogEntry {
  const entry: Mutable<LogEntry> = {
    time: requireTime(row, 'time'),
    messageId: requireText(row, 'messageId'),
    labels: labelsOf(row),
  };
  const state = optionalState(row);
  if (state !== undefined) entry.state = state;
  for (const field of TEXTS) {
    const text = optionalText(row, field);
    if (text !== undefined) entry[field] = text;
  }
  const url = optionalText(row, 'url', LONGEST_TEXT);
  if (url !== undefined) entry.url = url;
  const error = optionalProse(row, 'error');
  if (error !== undefined) entry.error = error;
  const responseStatus = optionalStatus(row, 'responseStatus');
  if (responseStatus !== undefined) entry.responseStatus = responseStatus;
  if (hasFields(row['responseHeaders'])) entry.hasResponse = true;
  const nextDeliveryTime = optionalTime(row, 'nextDeliveryTime');
  if (nextDeliveryTime !== undefined) entry.nextDeliveryTime = nextDeliveryTime;
  const maxRetries = optionalCount(row, 'maxRetries');
  if (maxRetries !== undefined) entry.maxRetries = maxRetries;
  const headers = storedHeaders(row['header'], names);
  if (headers.traceparent !== undefined) entry.traceparent = headers.traceparent;
  const flowControlKey = entry.flowControlKey ?? headers.flowControlKey;
  if (flowControlKey !== undefined) entry.flowControlKey = flowControlKey;
  const workflowRunId = entry.workflowRunId ?? headers.workflowRunId;
  if (workflowRunId !== undefined) entry.workflowRunId = workflowRunId;
  // In the service, the time takes precedence over the delay.
  if (headers.notBefore !== undefined) entry.postponedBy = 'not_before';
  else if (headers.delay !== undefined) entry.postponedBy = 'delay';
  return entry;
}

function hasFields(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/**
 * Returns the state. An unknown state is an error: it must not look like an absent one, which the filter would replace.
 */
function optionalState(row: JsonObject): MessageState | undefined {
  const state = optionalText(row, 'state');
  if (state === undefined) return undefined;
  const spelled = state === 'CANCELED' ? 'CANCELLED' : state;
  if (!STATES.has(spelled)) throw new UnreadableField('state: not a known state');
  return spelled as MessageState;
}
