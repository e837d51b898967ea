/** Parses the workflow DLQ (interface 2.4, 2.5): its pages, and the responses to resume, trigger and the deletes. */
import { hash } from 'node:crypto';
import type { WorkflowDlqEntry, WorkflowRun } from '#foundation/domain/workflow-dlq.ts';
import { ownText } from '#foundation/platform/memo.ts';
import type { WholeWorkflowDlqEntry } from '../api.ts';
import type { WireNames } from '../wire-names.ts';
import { labelsOf, parsePage, type RawPage } from './page.ts';
import {
  LONGEST_TEXT,
  MalformedAnswer,
  jsonObject,
  optionalCount,
  optionalStatus,
  optionalText,
  parseJson,
  requireCount,
  requireText,
  rowsOf,
  type Drops,
  type JsonObject,
} from './reader.ts';
import { storedHeaders } from './stored-headers.ts';
import { oddUnit, optionalTime, requireTime } from './time.ts';

const RESPONSE_TEXT_LENGTH = 200;

export interface WorkflowDlqPage<Row = WorkflowDlqEntry> extends Omit<RawPage, 'page'> {
  readonly rows: readonly Row[];
}

export interface ResumeAnswer {
  readonly runs: readonly WorkflowRun[];
  readonly cursor?: string;
}

export interface DeleteAnswer {
  readonly deleted: number;
  readonly cursor?: string;
}

export function parseWorkflowDlqPage(body: Buffer, drops: Drops, names: WireNames): WorkflowDlqPage {
  return parseRows(body, drops, (row) => parseEntry(row, names));
}

export function parseWholeWorkflowDlqPage(
  body: Buffer,
  drops: Drops,
  names: WireNames,
): WorkflowDlqPage<WholeWorkflowDlqEntry> {
  return parseRows(body, drops, (row) => ({ entry: parseEntry(row, names), row }));
}

function parseRows<Row>(body: Buffer, drops: Drops, parse: (row: JsonObject) => Row): WorkflowDlqPage<Row> {
  const { page, ...rest } = parsePage(body);
  if (page['messages'] === undefined) throw new MalformedAnswer('the field messages is missing');
  const rows = rowsOf(drops, page['messages'], { what: 'messages', parse });
  return { rows, ...rest };
}

/** Parses the result of a resume completely or not at all: an unreadable run makes the response malformed. */
export function parseResume(body: Buffer): ResumeAnswer {
  const { page, cursor } = parsePage(body);
  const list = page['workflowRuns'];
  if (!Array.isArray(list)) throw new MalformedAnswer('workflowRuns is not a list');
  const runs = Array.from(list, (run) => parseRun(jsonObject(run, 'workflowRuns')));
  return { runs, cursor };
}

export function parseTrigger(body: Buffer): WorkflowRun {
  return parseRun(jsonObject(parseJson(body), 'answer'));
}

/** Parses the response to both bulk deletes. */
export function parseDelete(body: Buffer): DeleteAnswer {
  const { page, cursor } = parsePage(body);
  return { deleted: requireCount(page, 'deleted'), cursor };
}

function parseRun(row: JsonObject): WorkflowRun {
  return {
    workflowRunId: requireText(row, 'workflowRunId'),
    workflowCreatedAt: optionalTime(row, 'workflowCreatedAt'),
  };
}

function parseEntry(row: JsonObject, names: WireNames): WorkflowDlqEntry {
  const headers = storedHeaders(row['header'], names);
  return {
    dlqId: requireText(row, 'dlqId'),
    workflowRunId: requireText(row, 'workflowRunId'),
    workflowUrl: requireText(row, 'workflowUrl', LONGEST_TEXT),
    workflowCreatedAt: optionalTime(row, 'workflowCreatedAt'),
    createdAt: requireTime(row, 'createdAt'),
    timesIn: oddUnit(row, 'createdAt') ?? oddUnit(row, 'workflowCreatedAt'),
    url: optionalText(row, 'url', LONGEST_TEXT),
    method: optionalText(row, 'method'),
    maxRetries: optionalCount(row, 'maxRetries'),
    callerIp: optionalText(row, 'callerIP'),
    fingerprint: fingerprintOf(row),
    labels: labelsOf(row['label'], row['labels']),
    flowControlKey: optionalText(row, 'flowControlKey') ?? headers.flowControlKey,
    failureFunctionState: failureFunctionState(row),
    responseStatus: optionalStatus(row, 'responseStatus'),
    responseText: responseText(row),
  };
}

const FINGERPRINT_LENGTH = 24;

/**
 * Returns the fingerprint of an entry. A body that the service redacted is already a hash, which serves the same
 * purpose.
 */
function fingerprintOf(row: JsonObject): string | undefined {
  const plain = row['body'];
  const body = typeof plain === 'string' && plain !== '' ? plain : row['bodyBase64'];
  if (typeof body !== 'string' || body === '') return undefined;
  const of = `${requireText(row, 'workflowUrl', LONGEST_TEXT)}\0${optionalText(row, 'method') ?? ''}\0${body}`;
  return hash('sha256', of).slice(0, FINGERPRINT_LENGTH);
}

/**
 * Returns the state of the failure function. Absent means that there is none, which a guard accepts. An unreadable
 * state therefore invalidates the row.
 */
function failureFunctionState(row: JsonObject): string | undefined {
  const own = optionalText(row, 'failureFunctionState');
  const info = row['failureCallbackInfo'];
  const state =
    own ??
    (info === undefined || info === null ? undefined : optionalText(jsonObject(info, 'failureCallbackInfo'), 'state'));
  return state === 'CALLBACK_CANCELLED' ? 'CALLBACK_CANCELED' : state;
}

function responseText(row: JsonObject): string | undefined {
  const plain = row['responseBody'];
  const encoded = row['responseBodyBase64'];
  let text = '';
  if (typeof plain === 'string' && plain !== '') text = plain;
  // Four base64 characters are three bytes, and a UTF-8 character has at most four bytes.
  else if (typeof encoded === 'string') {
    text = Buffer.from(encoded.slice(0, RESPONSE_TEXT_LENGTH * 6), 'base64').toString('utf8');
  }
  return text === '' || text.startsWith('REDACTED:') ? undefined : ownText(text.slice(0, RESPONSE_TEXT_LENGTH));
}
