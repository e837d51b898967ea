/**
 * Performs one HTTP exchange with undici and reports if the request began to be written. That fact decides if a failed
 * write may have taken effect. Follows no redirects and retries nothing.
 */
import type { Dispatcher } from 'undici';
import { GatheredBytes } from '#foundation/platform/gathered-bytes.ts';
import type { AnswerReading } from './answer-memory.ts';
import type { AnswerHeaders } from './rate-limit-headers.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query exactly as in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Number of body bytes received. */
  readonly bytes: number;
  /** Body; empty for a long error body. The reader must free it. */
  readonly body: Buffer<ArrayBuffer>;
}

/** Error for an exchange without a complete response. `cause` is the signal's reason if that stopped it. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** False if no byte of the request was, or will be, written. */
  readonly sent: boolean;
  /** Status of the response, if it began. */
  readonly status: number | undefined;
  /** Number of body bytes received. */
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

/** Maximum size of an error body. A longer one is an HTML page. */
const MOST_ERROR_BYTES = 65_536;

export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/**
 * @param limits `maxBytes` of the response body, whose memory `reading` counts; `signal` aborts the exchange
 * immediately
 * @throws {ExchangeError}
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Exchange,
  limits: { readonly maxBytes: number; readonly reading: AnswerReading; readonly signal: AbortSignal },
): Promise<RawAnswer> {
  const { signal, maxBytes, reading } = limits;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    let status: number | undefined;
    let headers: AnswerHeaders = {};
    let bytes = 0;
    const body = new GatheredBytes();

    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      signal.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (cause: unknown): void => {
      const sent = controller !== undefined;
      if (!settle()) return;
      body.discard();
      reject(new ExchangeError(cause, { sent, status, bytes }));
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
      // Called right before the first byte is written. A request that was stopped while it waited for its connection
      // must not be written. A request that was written once must not be written again.
      onRequestStart(started) {
        if (settled || controller !== undefined) started.abort(new Error('this request must not be sent'));
        else controller = started;
      },
      onResponseStart(_started, statusCode, answerHeaders) {
        if (statusCode < 200) return;
        status = statusCode;
        headers = answerHeaders;
        if (Number(answerHeaders['content-length']) > maxBytes) tooLarge();
      },
      onResponseData(_started, chunk) {
        bytes += chunk.length;
        if (bytes > maxBytes) tooLarge();
        if (settled || (!isGood(status) && bytes > MOST_ERROR_BYTES)) return;
        body.add(chunk);
        reading.add(chunk.length);
      },
      onResponseEnd() {
        const isWhole = body.length === bytes;
        if (settle()) resolve({ status: status ?? 0, headers, bytes, body: isWhole ? body.take() : Buffer.alloc(0) });
      },
      onResponseError(_started, error) {
        fail(error);
      },
    };
    const tooLarge = (reason = `the response is larger than ${maxBytes} bytes`): void => {
      const error = new AnswerTooLarge(reason);
      fail(error);
      controller?.abort(error);
    };
    reading.onTooMuch = tooLarge;

    try {
      dispatcher.dispatch({ ...request, body: request.body ?? null }, handler);
    } catch (error) {
      fail(error);
    }
  });
}

function isGood(status = 0): boolean {
  return status >= 200 && status <= 299;
}
