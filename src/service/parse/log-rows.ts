/**
 * Reads a page of the log from its bytes. Most pages need nothing else: their rows have the types of the interface. Of
 * any other page it reads nothing, and the page is parsed as a whole.
 */
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { JsonScan, LIST, OBJECT, UnusualJson } from '#foundation/platform/json-scan.ts';
import { KnownKeys } from '#foundation/platform/known-keys.ts';
import { KnownTexts } from '#foundation/platform/known-texts.ts';
import type { WireNames } from '../wire-names.ts';
import { notLonger, UnreadableField, type JsonObject } from './reader.ts';
import { isStoredHeader } from './stored-headers.ts';

const texts = new KnownTexts();
/** An object with members, which are not read. */
const MEMBERS: unknown = { some: null };

interface ReadPage {
  readonly rows: readonly LogEntry[];
  readonly bytes: number;
  readonly cursor: string | undefined;
}

/** Texts of a row that its entry has unchanged. */
const TEXTS = [
  'topicName',
  'endpointName',
  'queueName',
  'scheduleId',
  'method',
  'flowControlKey',
  'workflowRunId',
] as const satisfies readonly (keyof LogEntry)[];
export type TextField = (typeof TEXTS)[number];
/** Wanted fields of a row, in the order of its values. */
export const ROW_FIELDS = [
  'time',
  'messageId',
  'state',
  'label',
  'labels',
  ...TEXTS,
  'url',
  'error',
  'responseStatus',
  'responseHeaders',
  'nextDeliveryTime',
  'maxRetries',
  'header',
] as const;
/** Positions of the values. */
export const AT = Object.fromEntries(ROW_FIELDS.map((field, at) => [field, at])) as Readonly<
  Record<(typeof ROW_FIELDS)[number], number>
>;
/** Values of a row by position. */
export type LogRow = unknown[];
/** Keys of rows: the positions of their values; -1 if they are not wanted. */
const rowKeys = new KnownKeys((text) => (ROW_FIELDS as readonly string[]).indexOf(text));
const { responseHeaders: RESPONSE_HEADERS, header: HEADER } = AT;
const NO_VALUES: readonly unknown[] = ROW_FIELDS.map(() => undefined);
const skippedKeys = new KnownKeys(() => undefined);
/** Keys of headers: true if the daemon uses the header. */
const headerKeys = new WeakMap<WireNames, KnownKeys<boolean>>();

/** @returns undefined if the page is unusual or has an invalid row */
export function readLogPage(
  body: Buffer<ArrayBuffer>,
  names: WireNames,
  parse: (row: LogRow) => LogEntry,
): ReadPage | undefined {
  try {
    return readPage(body, names, parse);
  } catch (error) {
    if (error instanceof UnusualJson || error instanceof UnreadableField) return undefined;
    throw error;
  }
}

function readPage(body: Buffer<ArrayBuffer>, names: WireNames, parse: (row: LogRow) => LogEntry): ReadPage {
  const scan = new JsonScan(body, texts);
  let rows: LogEntry[] | undefined;
  let cursor: unknown = null;
  for (let more = scan.enter(OBJECT); more; more = scan.hasMore(OBJECT)) {
    const { text } = scan.key(skippedKeys);
    if (text === 'cursor') cursor = scan.scalar();
    else if (text !== 'logs' && text !== 'events') scan.skip(skippedKeys);
    else if (rows !== undefined) throw new UnusualJson();
    else {
      rows = [];
      for (let next = scan.enter(LIST); next; next = scan.hasMore(LIST)) rows.push(parse(readRow(scan, names)));
    }
  }
  if (scan.next() !== 0 || rows === undefined || (cursor !== null && typeof cursor !== 'string'))
    throw new UnusualJson();
  return { rows, bytes: body.length - scan.skipped, cursor: notLonger(cursor ?? '', 'cursor') || undefined };
}

/** Returns the values of a parsed row. */
export function rowOf(row: JsonObject): LogRow {
  return ROW_FIELDS.map((field) => row[field]);
}

function readRow(scan: JsonScan, names: WireNames): LogRow {
  const row: LogRow = [...NO_VALUES];
  for (let more = scan.enter(OBJECT); more; more = scan.hasMore(OBJECT)) {
    const field = scan.key(rowKeys).meaning;
    if (field === -1) scan.skip(skippedKeys);
    else if (field === RESPONSE_HEADERS) row[field] = scan.skip(skippedKeys) ? MEMBERS : undefined;
    else if (field === HEADER && scan.next() === OBJECT) row[field] = readHeaders(scan, names);
    else row[field] = scan.value();
  }
  return row;
}

function readHeaders(scan: JsonScan, names: WireNames): unknown {
  let keys = headerKeys.get(names);
  if (keys === undefined) headerKeys.set(names, (keys = new KnownKeys((text) => isStoredHeader(text, names))));
  let headers: Record<string, unknown> | undefined;
  for (let more = scan.enter(OBJECT); more; more = scan.hasMore(OBJECT)) {
    const { text, meaning: isStored } = scan.key(keys);
    if (isStored) (headers ??= {})[text] = scan.value();
    else scan.skip(skippedKeys);
  }
  return headers;
}
