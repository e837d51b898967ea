/** Parses pages of the message log (interface 2.3). Bodies and headers of callbacks are not read. */
import { hash } from 'node:crypto';
import { MESSAGE_STATES, type InvalidLogRow, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';
import type { WireNames } from '../wire-names.ts';
import { AT, readLogPage, ROW_FIELDS, rowOf, type LogRow, type TextField } from './log-rows.ts';
import { labelsOf, parsePage, type RawPage } from './page.ts';
import {
  MalformedAnswer,
  countIn,
  LONGEST_TEXT,
  present,
  proseIn,
  rowsOf,
  statusIn,
  textIn,
  UnreadableField,
  Drops,
  type JsonObject,
} from './reader.ts';
import { storedHeaders } from './stored-headers.ts';
import { optionalTime, timeIn } from './time.ts';
import { withoutBodies } from './unread-bodies.ts';

const STATES: ReadonlySet<string> = new Set(MESSAGE_STATES);

export interface ParsedLogPage extends Omit<RawPage, 'page'> {
  readonly rows: readonly LogEntry[];
  /** Dropped rows that can be recognized. */
  readonly invalid: readonly InvalidLogRow[];
}

export function parseLogPage(body: Buffer, drops: Drops, names: WireNames): ParsedLogPage {
  const parse = (row: LogRow) => parseEntry(row, names);
  const read = readLogPage(body as Buffer<ArrayBuffer>, names, parse);
  if (read !== undefined) return { ...read, invalid: [] };
  const { page, ...rest } = parsePage(withoutBodies(body));
  const what = ['logs', 'events'].find((key) => page[key] !== undefined);
  if (what === undefined) throw new MalformedAnswer('it has neither logs nor events');
  const invalid: InvalidLogRow[] = [];
  const onDropped = (row: unknown): void => void invalid.push(...invalidRow(row));
  const rows = rowsOf(drops, page[what], { what, parse: (row) => parse(rowOf(row)), onDropped });
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

const [FIRST_TEXT, AFTER_TEXTS] = [AT.topicName, AT.workflowRunId + 1];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Parses an entry field by field instead of as a draft. A page has a hundred entries, and this is most of the cost of
 * reading the log.
 */
function parseEntry(row: LogRow, names: WireNames): LogEntry {
  const entry: Mutable<LogEntry> = {
    time: present(timeIn(row[AT.time], 'time'), 'time'),
    messageId: present(textIn(row[AT.messageId], 'messageId'), 'messageId'),
    labels: labelsOf(row[AT.label], row[AT.labels]),
  };
  const state = stateOf(row[AT.state]);
  if (state !== undefined) entry.state = state;
  for (let at = FIRST_TEXT; at < AFTER_TEXTS; at += 1) {
    if (row[at] === undefined) continue;
    const field = ROW_FIELDS[at] as TextField;
    const text = textIn(row[at], field);
    if (text !== undefined) entry[field] = text;
  }
  const url = textIn(row[AT.url], 'url', LONGEST_TEXT);
  if (url !== undefined) entry.url = url;
  const error = proseIn(row[AT.error], 'error');
  if (error !== undefined) entry.error = error;
  const responseStatus = statusIn(row[AT.responseStatus], 'responseStatus');
  if (responseStatus !== undefined) entry.responseStatus = responseStatus;
  if (hasFields(row[AT.responseHeaders])) entry.hasResponse = true;
  const nextDeliveryTime = timeIn(row[AT.nextDeliveryTime], 'nextDeliveryTime');
  if (nextDeliveryTime !== undefined) entry.nextDeliveryTime = nextDeliveryTime;
  const maxRetries = countIn(row[AT.maxRetries], 'maxRetries');
  if (maxRetries !== undefined) entry.maxRetries = maxRetries;
  const headers = storedHeaders(row[AT.header], names);
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
function stateOf(value: unknown): MessageState | undefined {
  const state = textIn(value, 'state');
  if (state === undefined) return undefined;
  const spelled = state === 'CANCELED' ? 'CANCELLED' : state;
  if (!STATES.has(spelled)) throw new UnreadableField('state: not a known state');
  return spelled as MessageState;
}
