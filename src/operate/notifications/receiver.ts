/**
 * Delivery of one notification, and the meaning of the response. Reasons never have the address, which may be secret.
 */
import { redactData } from '#foundation/domain/redact.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { withPath, type HttpPost } from '#foundation/platform/http-post.ts';
import type { ClientPair } from '#foundation/platform/client-pair.ts';
import type { Secret } from '#foundation/platform/secret.ts';

export interface Receiver {
  /** `alertmanager`, `webhook`, or `webhook/OWNER`. */
  readonly name: string;
  readonly url: Secret;
  /** Sent as a bearer token. */
  readonly token?: Secret;
  readonly headers: Readonly<Record<string, string>>;
  readonly client?: () => ClientPair;
}

export type Delivery =
  | { readonly kind: 'sent' }
  /** The receiver will never accept this notification. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'later'; readonly afterMs?: number };

/** Statuses of an invalid message. Other errors may be fixed at the receiver, or in the configuration. */
const NEVER = new Set([400, 413, 422]);

export interface DeliverOptions {
  readonly post: HttpPost;
  readonly events: EventBus;
  readonly signal: AbortSignal;
  /** Appended to the receiver's URL. */
  readonly path?: string;
}

/** Delivers one notification. Rejects only with the signal's reason. */
export async function deliver(receiver: Receiver, message: unknown, options: DeliverOptions): Promise<Delivery> {
  const { post, events, signal, path = '' } = options;
  const failed = (reason: string): void =>
    events.emit({ type: 'notification.failed', receiver: receiver.name, reason });
  let status: number;
  let retryAfterMs: number | undefined;
  try {
    const url = urlOf(receiver.url.reveal(), path);
    if (url === undefined) {
      failed('the URL is not an http or https URL');
      return { kind: 'later' };
    }
    const headers = {
      ...receiver.headers,
      ...(receiver.token !== undefined && { authorization: `Bearer ${receiver.token.reveal()}` }),
      'content-type': 'application/json',
    };
    ({ status, retryAfterMs } = await post.send(
      url,
      {
        headers,
        body: Buffer.from(JSON.stringify(redactData(message))),
        ...(receiver.client && { client: receiver.client() }),
      },
      signal,
    ));
  } catch (error) {
    signal.throwIfAborted();
    const { code, name } = error as NodeJS.ErrnoException;
    failed(code ?? name);
    return { kind: 'later' };
  }
  if (status >= 200 && status < 300) {
    events.emit({ type: 'notification.sent', receiver: receiver.name });
    return { kind: 'sent' };
  }
  failed(`status ${status}`);
  if (NEVER.has(status)) return { kind: 'refused' };
  return { kind: 'later', ...(retryAfterMs !== undefined && { afterMs: retryAfterMs }) };
}

function urlOf(base: string, path: string): string | undefined {
  const url = URL.parse(base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return path === '' ? base : withPath(base, path);
}
