/**
 * Callbacks and failure callbacks of the service (interface, section 6). Their content is a hint: a failure callback
 * adds a dead letter for policies, and triggers the policies that wait for it. Bodies and headers of messages are never
 * logged, and stored only if the account keeps them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { labelsIn } from '#foundation/domain/labels.ts';
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import { bareUrl, type BodyLack, type DeadLetter } from '#foundation/domain/dead-letter.ts';
import { malformed } from './hook-json.ts';
import type { HookDeps } from './hook-deps.ts';

/** Format of ids, which the daemon sends back to the service in requests. */
const id = z.string().regex(/^[\x21-\x7E]{1,256}$/);
const name = z.string().min(1).max(1_024).optional().catch(undefined);

const callback = z.object({
  status: z.int().min(100).max(599).optional().catch(undefined),
  retried: z.int().min(0).optional().catch(undefined),
  dlqId: id.optional(),
  sourceMessageId: id,
  url: z.string().max(8_192).optional().catch(undefined),
  topicName: name,
  scheduleId: name,
  createdAt: z
    .string()
    .regex(/^\d{13}$/)
    .optional()
    .catch(undefined),
  sourceHeader: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

type Callback = z.output<typeof callback>;

const MAX_LABELS = 100;
const EARLIEST = Date.UTC(2015, 0);
const DAY_MS = 86_400_000;

export interface CallbackRequest {
  readonly account: string;
  /** Brand prefix of the service's own headers. */
  readonly headerPrefix: string;
  readonly headers: IncomingHttpHeaders;
  readonly value: unknown;
}

/**
 * @returns the dead letter of a failure callback about a message in the DLQ
 * @throws {HttpError} 400
 */
export async function takeCallback(deps: HookDeps, request: CallbackRequest): Promise<DeadLetter | undefined> {
  const read = callback.safeParse(request.value);
  if (!read.success) throw malformed('The body must be a callback of the service with sourceMessageId.');
  const { status, dlqId } = read.data;
  const told = dlqId === undefined ? undefined : deadLetterOf(read.data, dlqId, request, deps.clock.now());
  // Canaries trigger no policy and are no incident.
  const deadLetter = told?.labels.includes(CANARY_LABEL) === true ? undefined : told;
  if (deadLetter !== undefined) await store(deps, deadLetter, request.value);
  deps.events.emit({
    type: 'callback.received',
    account: request.account,
    kind: dlqId === undefined ? 'callback' : 'failure_callback',
    codeClass: status === undefined ? 'none' : `${Math.floor(status / 100)}xx`,
  });
  return deadLetter;
}

/** Stores a dead letter and its body in one durable step. */
async function store({ ledger, events, bodies }: HookDeps, deadLetter: DeadLetter, value: unknown): Promise<void> {
  const { account, dlqId } = deadLetter;
  const { settings, pack } = bodies();
  const body = settings.has(account) ? pack(account, dlqId, sentMessage(value)) : undefined;
  const { isNewBody, dropped } = await ledger.noteDeadLetter(deadLetter, body);
  if (isNewBody) events.emit({ type: 'body.received', account, lack: body?.lack, problem: body?.problem });
  if (dropped > 0) events.emit({ type: 'bodies.dropped', account, reason: 'total', count: dropped });
}

function deadLetterOf(told: Callback, dlqId: string, request: CallbackRequest, now: number): DeadLetter {
  const { status, retried, topicName, scheduleId } = told;
  const createdAt = Number(told.createdAt);
  const isTime = createdAt >= EARLIEST && createdAt <= now + DAY_MS;
  const url = told.url === undefined ? undefined : bareUrl(told.url);
  return {
    account: request.account,
    dlqId,
    messageId: told.sourceMessageId,
    learnedAt: now,
    ...(isTime && { createdAt }),
    ...(url !== undefined && { url }),
    ...(topicName !== undefined && { topicName }),
    ...(scheduleId !== undefined && { scheduleId }),
    ...(retried !== undefined && { retried }),
    ...(status !== undefined && { status }),
    labels: labelsOf(told, request),
  };
}

/**
 * Labels of the message. The interface does not say whether the source's headers contain them. A header `Opsd-Label`,
 * forwarded with the failure callback, always does.
 */
function labelsOf({ sourceHeader = {} }: Callback, { headerPrefix, headers }: CallbackRequest): string[] {
  const wanted = `${headerPrefix}-Label`.toLowerCase();
  const told = Object.entries(sourceHeader).filter(([header]) => header.toLowerCase() === wanted);
  const texts = [...told.map(([, value]) => value), headers['opsd-label']].filter((text) => typeof text === 'string');
  return labelsIn(texts)
    .map((label) => label.slice(0, 256))
    .slice(0, MAX_LABELS);
}

/** Message in a failure callback. */
const message = z.object({
  url: z.string().min(1).max(8_192),
  method: z.string().regex(/^[A-Z]{1,32}$/),
  sourceHeader: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  sourceBody: z.string(),
});

/** Mark that the service writes in place of a redacted value. */
const REDACTED = /^REDACTED:[0-9a-f]{64}$/i;

/** @returns the message, if body and headers are certainly its own; or why its body cannot be kept, and its length (0 if unknown) */
function sentMessage(asked: unknown): CarriedMessage | { readonly lack: BodyLack; readonly size: number } {
  const read = message.safeParse(asked);
  if (!read.success) return { lack: 'incomplete', size: 0 };
  const { url, method, sourceHeader, sourceBody } = read.data;
  const headers = Object.fromEntries(Object.entries(sourceHeader).map(([header, value]) => [header, [value].flat()]));
  const body = Buffer.from(sourceBody, 'base64');
  const size = body.length;
  // The service may encode the mark of a body; a mark has 73 bytes.
  const texts = [sourceBody, body.subarray(0, 74).toString('latin1'), ...Object.values(headers).flat()];
  if (texts.some((text) => REDACTED.test(text))) return { lack: 'redacted', size: 0 };
  // Node ignores what is no base64.
  if (body.toString('base64') !== sourceBody) return { lack: 'incomplete', size: 0 };
  const [, length] = Object.entries(headers).find(([header]) => header.toLowerCase() === 'content-length') ?? [];
  if (length?.some((value) => Number(value) !== size)) return { lack: 'length', size };
  return { url, method, headers, body };
}
