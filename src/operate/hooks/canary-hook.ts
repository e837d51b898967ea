/**
 * Requests of the service about canaries: messages, their callbacks, and the daemon's own probes. A request without a
 * valid code gets the response of an unknown path, whatever is wrong with it.
 */
import { timingSafeEqual } from 'node:crypto';
import { CODE_HEADER, type CanaryPlace } from '#observe/canary/message.ts';
import type { CanaryInbox, Recognized } from '#observe/canary/inbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { parseBounded, readBytes } from '../http/body.ts';
import type { ListenerRequest } from '../http/http-listener.ts';
import { HttpError } from '../http/reply.ts';
import { createSignatureCheck, type SignatureCheck, type VerifySignature } from './callback-signature.ts';

export interface CanaryHook extends CanaryPlace {
  /** Absent: the account has no signing keys. */
  readonly signature?: SignatureCheck;
  /** Prefix of the service's own headers. */
  readonly headerPrefix: string;
  /** Size of the largest message. */
  readonly maxBytes: number;
}

/** Runs work with a body in memory. @throws {HttpError} 503 if too many bodies are in memory */
export type Bounded = <T>(work: () => Promise<T>) => Promise<T>;

interface HandlerDeps {
  readonly clock: Clock;
  /** Returns the inbox; undefined while no canary is configured. */
  readonly inbox: (() => CanaryInbox | undefined) | undefined;
  readonly bounded: Bounded;
}

interface CanaryRequest {
  readonly hook: CanaryHook;
  readonly inbox: CanaryInbox;
  readonly asked: ListenerRequest;
  readonly isCallback: boolean;
  readonly verify: VerifySignature | undefined;
  /** Reads the body. @throws {HttpError} 413 if it is longer */
  readonly read: (maxBytes: number) => Promise<Buffer>;
}

interface Handler {
  /** `ACCOUNT/NAME` */
  readonly name: string;
  /** @throws {HttpError} */
  readonly handle: (asked: ListenerRequest) => Promise<void>;
}

/** Returns the handlers of all canaries by path: for messages and probes, and for callbacks. */
export function canaryHandlers(hooks: readonly CanaryHook[], deps: HandlerDeps): [path: string, handler: Handler][] {
  return hooks.flatMap((hook) => {
    const verify = hook.signature && createSignatureCheck(hook.signature, deps.clock);
    const name = `${hook.account}/${hook.canary}`;
    const handler = (isCallback: boolean): Handler => ({
      name,
      async handle(asked) {
        const inbox = deps.inbox?.();
        if (inbox === undefined) throw noHook();
        const read = (maxBytes: number) => deps.bounded(() => readBytes(asked.request, maxBytes));
        await takeCanary({ hook, inbox, asked, isCallback, verify, read });
      },
    });
    const path = `/hooks/canary/${name}`;
    return [
      [path, handler(false)],
      [`${path}/callback`, handler(true)],
    ];
  });
}

/** Bytes of a callback beside the body of the message, which it repeats in base64. */
const CALLBACK_BYTES = 131_072;

/** Returns the response for everything that a stranger may have sent. */
function noHook(): HttpError {
  return new HttpError(404, 'not_found', 'No hook at this path.');
}

async function takeCanary(request: CanaryRequest): Promise<void> {
  const { hook, inbox, asked, isCallback } = request;
  const code = asked.request.headers[CODE_HEADER.toLowerCase()];
  const isCode = asked.request.method === 'POST' && typeof code === 'string';
  const known = isCode ? await inbox.find(hook, code) : undefined;
  if (known === undefined || (known.kind === 'callback') !== isCallback) {
    inbox.rejected(hook, { status: 404, reason: 'token' });
    throw noHook();
  }
  try {
    if (known.kind === 'probe') await known.take();
    else if (known.kind === 'message') await takeMessage(request, known);
    else await takeCallback(request, known);
  } catch (error) {
    const status = error instanceof HttpError ? error.status : 503;
    if (status !== 404) inbox.rejected(hook, { status, reason: 'own' });
    throw error;
  }
}

async function takeMessage(request: CanaryRequest, known: Extract<Recognized, { kind: 'message' }>): Promise<void> {
  const body = await readMessage(request);
  const sent = known.body;
  requireSigned(request, { body, sent });
  const altered = body === undefined || body.length !== sent.length || !timingSafeEqual(body, sent);
  const answered = await known.take({ altered });
  if (!request.asked.signal.aborted) answered();
}

/** Returns the body; undefined if it is longer than any message. */
async function readMessage({ hook, read }: CanaryRequest): Promise<Buffer | undefined> {
  try {
    return await read(hook.maxBytes + 1_024);
  } catch (error) {
    if (error instanceof HttpError && error.status === 413) return undefined;
    throw error;
  }
}

async function takeCallback(request: CanaryRequest, known: Extract<Recognized, { kind: 'callback' }>): Promise<void> {
  const { hook, asked } = request;
  const body = await request.read(2 * hook.maxBytes + CALLBACK_BYTES);
  requireSigned(request, { body });
  const status = statusOf(body);
  const messageId = asked.request.headers[`${hook.headerPrefix}-Message-Id`.toLowerCase()];
  await known.take({
    ...(status !== undefined && { status }),
    ...(typeof messageId === 'string' && { messageId }),
  });
}

interface Signed {
  /** Received body; undefined if it is longer than any message. */
  readonly body: Buffer | undefined;
  /** Body that was published. */
  readonly sent?: Buffer;
}

/**
 * Requires a signature over the received body, if the account has signing keys. The service signs what it sends: if the
 * signature fits the published body instead, the body was changed after that.
 *
 * @throws {HttpError} 404
 */
function requireSigned({ hook, inbox, asked, verify }: CanaryRequest, { body, sent }: Signed): void {
  if (verify === undefined) return;
  const header = asked.request.headers[`${hook.headerPrefix}-Signature`.toLowerCase()];
  const signature = typeof header === 'string' ? header : undefined;
  const fits = (signed: Buffer | undefined): boolean => {
    if (signed === undefined) return false;
    try {
      verify({ signature, body: signed });
      return true;
    } catch (error) {
      if (error instanceof HttpError) return false;
      throw error;
    }
  };
  if (fits(body)) return;
  inbox.rejected(hook, { status: 404, reason: fits(sent) ? 'changed' : 'signature' });
  throw noHook();
}

/** Returns the status of the delivery that a callback reports; undefined if it reports none. */
function statusOf(body: Buffer): number | undefined {
  try {
    const { status } = parseBounded(body, body.toString('utf8')) as { readonly status?: unknown };
    return typeof status === 'number' && Number.isInteger(status) ? status : undefined;
  } catch {
    return undefined;
  }
}
