/**
 * One HTTP exchange over undici, and whether its request began to be written: the fact on which it depends if a
 * failed write may have taken effect. Follows no redirect, repeats nothing.
 */
import type { Dispatcher } from 'undici';
import type { AnswerHeaders } from './rate-limit-headers.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query exactly as they shall stand in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** The exchange did not end in a whole answer. `cause` is the signal's reason when that stopped it. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** False: not a byte of the request was, or will be, written. */
  readonly sent: boolean;
  /** Status of the answer, when it began. */
  readonly status: number | undefined;
  /** Bytes of the answer's body that had come. */
  readonly bytes: number;

  constructor(
    cause: unknown,
    facts: { readonly sent: boolean; readonly status: number | undefined; readonly bytes: number },
  ) {
    super('the exchange failed', { cause });
    this.sent = facts.sent;
    this.status = facts.status;
    this.bytes = facts.bytes;
  }
}

export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/**
 * @param limits `maxBytes` of the answer's body; `signal` ends the exchange at once
 * @throws {ExchangeError}
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Exchange,
  limits: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<RawAnswer> {
  const { signal, maxBytes } = limits;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    let status: number | undefined;
    let headers: AnswerHeaders = {};
    let bytes = 0;
    const chunks: Buffer[] = [];

    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      signal.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (cause: unknown): void => {
      const sent = controller !== undefined;
      if (settle()) reject(new ExchangeError(cause, { sent, status, bytes }));
    };
    const onAbort = (): void => {
      fail(signal.reason);
      controller?.abort(signal.reason as Error);
    };
    if (signal.aborted) {
      fail(signal.reason);
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });

    const handler: Dispatcher.DispatchHandler = {
      // Called right before the first byte is written. A request that waited for its connection while it was stopped
      // must not be written any more, and one that was written once must not be written again.
      onRequestStart(started) {
        if (settled || controller !== undefined) started.abort(new Error('this request must not be sent'));
        else controller = started;
      },
      onResponseStart(started, statusCode, answerHeaders) {
        if (statusCode < 200) return;
        status = statusCode;
        headers = answerHeaders;
        if (Number(answerHeaders['content-length']) > maxBytes) tooLarge(started);
      },
      onResponseData(started, chunk) {
        bytes += chunk.length;
        if (bytes > maxBytes) tooLarge(started);
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (settle()) resolve({ status: status ?? 0, headers, body: Buffer.concat(chunks) });
      },
      onResponseError(_started, error) {
        fail(error);
      },
    };
    const tooLarge = (started: Dispatcher.DispatchController): void => {
      const error = new AnswerTooLarge(`the answer is larger than ${maxBytes} bytes`);
      fail(error);
      started.abort(error);
    };

    try {
      dispatcher.dispatch({ ...request, body: request.body ?? null }, handler);
    } catch (error) {
      fail(error);
    }
  });
}
