/** Dead letters as the API and the pages show them. Field names are stable. Times are epoch milliseconds. */
import { incidentReason } from '#foundation/domain/incident-reason.ts';
import { isStamp } from '#foundation/domain/lineage.ts';
import { redact, redactData } from '#foundation/domain/redact.ts';
import { jsonOf } from '#foundation/domain/json.ts';
import type { KeptBodies } from '#automate/ledger/kept-bodies.ts';
import type {
  DeadLetterList,
  DeadLetterSample,
  DeadLetterView,
  getDeadLetter,
  searchDeadLetters,
} from '../contract/dead-letters.ts';
import type { AnswerOf, QueryOf } from '../contract/route.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext } from './api-deps.ts';
import {
  causeOf,
  findDeadLetters,
  pageOfDeadLetters,
  type DeadLetterDeps,
  type FoundDeadLetter,
} from './dead-letter-query.ts';
import { fromLedger } from './from-store.ts';
import { retriggerViews } from './retrigger-views.ts';
import { actionView } from './run-views.ts';

export function deadLetterList(deps: DeadLetterDeps, query: QueryOf<typeof searchDeadLetters>): DeadLetterList {
  const { found, ...page } = pageOfDeadLetters(deps, query);
  return { at: deps.clock.now(), deadLetters: found.map((one) => deadLetterView(deps, one)), ...page };
}

export function deadLetterView(deps: DeadLetterDeps, found: FoundDeadLetter): DeadLetterView {
  const { account, queue, at: failedAt, row } = found;
  const retention = deps.accounts.find(({ name }) => name === account)?.dlqRetentionMs;
  const incident = deps.incidents.incidentOf(account, queue, row.dlqId);
  const common = {
    id: row.dlqId,
    account,
    queue,
    failedAt,
    expiresAt: retention === undefined ? undefined : failedAt + retention,
    incident,
    cause: causeOf(found),
    labels: row.labels.filter((label) => !isStamp(label)),
  };
  if (found.queue === 'message') {
    const { account: _account, dlqId: _id, learnedAt: _at, status, labels: _labels, ...rest } = found.row;
    return { ...common, reason: incidentReason(status, undefined), responseStatus: status, ...rest };
  }
  const { dlqId: _id, createdAt: _at, timesIn: _unit, fingerprint: _print, labels: _labels, ...rest } = found.row;
  return { ...common, reason: incidentReason(rest.responseStatus, rest.responseText), ...rest };
}

const SAMPLE_LENGTH = 4_096;

/**
 * Finds a dead letter by its id.
 *
 * @throws {HttpError} 404 if it is unknown; 400 if several accounts have it
 */
export function findDeadLetter(deps: DeadLetterDeps, id: string, account?: string): FoundDeadLetter {
  const found = findDeadLetters(deps, id, account);
  const [first] = found;
  if (first === undefined) {
    const message = `No dead letter has the id ${id.slice(0, 200)} in the last reading. It may have been resumed, deleted, or expired; \`opsd explain ID\` shows what became of it.`;
    throw new HttpError(404, 'unknown_id', message);
  }
  if (found.length > 1) {
    const places = found.map((one) => `${one.account} (${one.queue})`).join(', ');
    throw new HttpError(400, 'bad_request', `Several dead letters have this id: ${places}. Add account=NAME.`);
  }
  return first;
}

/** Reads one dead letter. Body and headers are in the store, or need at most one request. */
export async function deadLetterDetail(
  given: Pick<ApiContext, 'deps' | 'signal'>,
  found: FoundDeadLetter,
  isBodyWanted: boolean,
): Promise<AnswerOf<typeof getDeadLetter>> {
  const { deps, signal } = given;
  const { account, queue, row } = found;
  const ofRun = isBodyWanted && queue === 'workflow' ? await sampleOfRun(deps, found, signal) : undefined;
  const stored = await fromLedger(given, async (ledger) => ({
    actions: await ledger.actionsOn(account, [row.dlqId]),
    retriggers: queue === 'workflow' ? await ledger.retriggers(account, row.dlqId) : [],
    body: queue === 'message' ? (await deps.bodies.states(account, [row.dlqId], ledger)).get(row.dlqId) : undefined,
    kept: isBodyWanted && queue === 'message' ? await deps.bodies.read(account, row.dlqId, ledger) : undefined,
  }));
  const { kept } = stored;
  return {
    at: deps.clock.now(),
    deadLetter: deadLetterView(deps, found),
    actions: stored.actions.map(actionView),
    body: stored.body,
    retriggers: await retriggerViews(given, account, stored.retriggers),
    sample: kept === undefined ? ofRun : sampleOfMessage(kept),
  };
}

async function sampleOfRun(
  deps: DeadLetterDeps,
  { account, row }: Extract<FoundDeadLetter, { queue: 'workflow' }>,
  signal: AbortSignal,
): Promise<DeadLetterSample> {
  const whole = await deps.incidents.readRow(account, row, signal);
  return typeof whole === 'string' ? { problem: whole } : sampleOf(whole);
}

function sampleOfMessage(read: Awaited<ReturnType<KeptBodies['read']>>): DeadLetterSample {
  if ('reason' in read) return { problem: read.reason };
  const { headers, body } = read.kept;
  return sampleOf({ header: headers, bodyBase64: Buffer.from(body).toString('base64') });
}

function sampleOf(row: Readonly<Record<string, unknown>>): DeadLetterSample {
  const body = textOf(row, 'body');
  const responseBody = textOf(row, 'responseBody');
  const isCut = [body, responseBody].some((text) => text !== undefined && text.length > SAMPLE_LENGTH);
  return {
    headers: redactData(row['header']),
    body: body && shown(body),
    responseHeaders: redactData(row['responseHeader']),
    responseBody: responseBody && shown(responseBody),
    isCut: isCut || undefined,
  };
}

function textOf(row: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const plain = row[name];
  if (typeof plain === 'string' && plain !== '') return plain;
  const encoded = row[`${name}Base64`];
  return typeof encoded === 'string' && encoded !== '' ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
}

/** Redacts a JSON body by its fields, another one by its text. @param indent blanks of each level of JSON */
export function redactedBody(body: string, indent?: number): string {
  const value = jsonOf(body);
  return value === undefined ? redact(body) : JSON.stringify(redactData(value), undefined, indent);
}

function shown(body: string): string {
  const text = redactedBody(body);
  return text.length > SAMPLE_LENGTH ? `${text.slice(0, SAMPLE_LENGTH)}…` : text;
}
