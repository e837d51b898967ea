/**
 * Starts a new run with the body of a failed one, or with another body. The interface deduplicates publishes and not
 * triggers, so the request is sent once: after a lost response, the run is looked for by its id.
 */
import { createHash, randomUUID } from 'node:crypto';
import { isStamp } from '#foundation/domain/lineage.ts';
import { forwardedHeaders } from '#service/parse/forwarded-headers.ts';
import { operationNamed } from '#service/operations.ts';
import type { AnswerOf } from '../contract/route.ts';
import { retriggerRun } from '../contract/dead-letters.ts';
import { HttpError } from '../http/reply.ts';
import type { FoundDeadLetter } from './dead-letter-query.ts';
import { findDeadLetter } from './dead-letter-views.ts';
import { fromLedger } from './from-store.ts';
import type { Given } from './implement.ts';
import { knownAccount } from './known-account.ts';
import { sendOperation } from './operation-routes.ts';
import { retriggerViews, readRun } from './retrigger-views.ts';

type FoundRun = Extract<FoundDeadLetter, { queue: 'workflow' }>;
type Row = Readonly<Record<string, unknown>>;

/** Milliseconds between the creations of a run and of its first message. */
const FIRST_MS = 10_000;

/** @throws {HttpError} */
export async function retrigger(context: Given<typeof retriggerRun>): Promise<AnswerOf<typeof retriggerRun>> {
  const { deps, signal, body: asked } = context;
  const { id, reason } = asked;
  const found = findDeadLetter(deps, id, knownAccount(deps, asked.account));
  const { account } = found;
  if (found.queue !== 'workflow')
    throw refused(`${id} is a message, no run: \`opsd dlq republish\` publishes it again`);
  if (asked.confirm !== id)
    throw new HttpError(409, 'unconfirmed', `retrigger must be confirmed with the id, ${id}; nothing was sent`);
  const before = await fromLedger(context, (ledger) => ledger.retriggers(account, id));
  // A claim refuses the others. An operator decides about a lost response, not a second retrigger.
  const unknown = before.filter(({ outcome }) => outcome === 'unknown');
  const [lost] = await retriggerViews(context, account, unknown.slice(0, 1));
  if (lost !== undefined) throw refused(`it was retriggered before, as run ${lost.workflowRunId}. ${lost.text}`);
  const row = await deps.incidents.readRow(account, found.row, signal);
  if (typeof row === 'string') throw refused(`the entry cannot be read: ${row}`);
  const body = asked.body ?? (await firstBody(context, found, row));
  const { workflowUrl } = found.row;
  const run = {
    dlqId: id,
    workflowRunId: `opsd-${randomUUID()}`,
    workflowUrl,
    reason,
    bodyBytes: body.length,
    bodySha256: createHash('sha256').update(body).digest('hex'),
    isEdited: asked.body !== undefined,
  };
  const given = { ...(await settingsOf(context, found, row)), workflowUrl, workflowRunId: run.workflowRunId, body };
  await send(context, 'trigger', { account, given, retrigger: run });
  const sent = { ...run, at: deps.clock.now(), by: context.by, outcome: 'accepted' } as const;
  return { retrigger: (await retriggerViews(context, account, [sent]))[0]! };
}

function refused(why: string): HttpError {
  return new HttpError(409, 'refused', `${why}; nothing was sent`);
}

function send(context: Given<typeof retriggerRun>, name: string, asked: Parameters<typeof sendOperation>[2]) {
  return sendOperation(context, operationNamed(name)!, asked, retriggerRun.command!);
}

/** Settings of the failed run, as far as its entry has them. */
async function settingsOf(context: Given<typeof retriggerRun>, { account, row: entry }: FoundRun, row: Row) {
  const { labels, maxRetries, flowControlKey } = entry;
  const brand = context.deps.headerPrefix?.(account) ?? 'Svc';
  const forward = forwardedHeaders(row['header'], `${brand}-`, (name) => name === 'authorization');
  if (forward === undefined) throw refused('a header of the run is redacted');
  const failureCallback = row['failureCallback'];
  const kept = labels.filter((label) => !isStamp(label));
  return {
    forward,
    ...(kept.length > 0 && { label: kept }),
    ...(maxRetries !== undefined && { retries: maxRetries }),
    ...(typeof failureCallback === 'string' && failureCallback !== '' && { failureCallback }),
    ...(flowControlKey !== undefined && {
      flowControlKey,
      flowControlValue: await limitsOf(context, account, flowControlKey),
    }),
  };
}

/** Returns the limits of a flow-control key: a message with the key sets them, and the entry has only the key. */
async function limitsOf(context: Given<typeof retriggerRun>, account: string, flowControlKey: string): Promise<string> {
  const { answer } = await send(context, 'get-flow-control', { account, given: { flowControlKey } });
  const limits = JSON.parse(answer.body.toString('utf8')) as Row;
  const known = { parallelism: limits['parallelismMax'], rate: limits['rateMax'], period: limits['ratePeriod'] };
  const set = Object.entries(known).filter(([name, value]) => Number(value) > 0 && (name !== 'period' || known.rate));
  if (set.length > 0) return set.map(([name, value]) => `${name}=${Number(value)}`).join(', ');
  throw refused(`the limits of the flow-control key ${flowControlKey} are unknown`);
}

/** Returns the listed body if it is certainly that of the run's first message: that of a later step is no payload. */
async function firstBody(
  context: Given<typeof retriggerRun>,
  { account, row: entry }: FoundRun,
  row: Row,
): Promise<Buffer> {
  const unknown = (why: string): HttpError =>
    refused(`the first body of the run is unknown: ${why}. Give one with --body FILE`);
  const [text, base64] = [row['body'], row['bodyBase64']].map((value) => (typeof value === 'string' ? value : ''));
  if (text === '' && base64 === '') throw unknown('the service lists no body');
  if (text!.startsWith('REDACTED:')) throw unknown('the service lists only its hash');
  if (text!.includes('\uFFFD')) throw unknown('the service lists it as text, and it is binary');
  if (entry.labels.some(isStamp)) throw unknown('the run was resumed, so the listed body may be that of a step');
  const run = await readRun(context.deps, account, entry.workflowRunId, context.signal);
  if (typeof run === 'string') throw unknown(run.replace(/\.$/, ''));
  const [first, ...others] = run.messages;
  const isFirst = first?.createdAt !== undefined && first.createdAt - (run.createdAt ?? -Infinity) <= FIRST_MS;
  if (!isFirst || others.length > 0 || run.isCut === true || run.resumedFrom !== undefined)
    throw unknown('the log does not show that the failed message is its first one');
  return text === '' ? Buffer.from(base64!, 'base64') : Buffer.from(text!);
}
