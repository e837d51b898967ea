/**
 * One HTTP exchange over undici, and whether its request began to be written: the fact on which it depends if a
 * failed write may have taken effect. Follows no redirect, repeats nothing.
 */
import type { Dispatcher } from 'undici';
import { GatheredBytes } from '#foundation/platform/gathered-bytes.ts';
import type { AnswerReading } from './answer-memory.ts';
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
  /** Bytes of the body that came. */
  readonly bytes: number;
  /** Empty if it is that of an error and long. Whoever has read it frees it. */
  readonly body: Buffer<ArrayBuffer>;
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

/** Bytes of an error that are kept; what is longer is a page for people. */
const MOST_ERROR_BYTES = 65_536;

export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/**
 * @param limits `maxBytes` of the answer's body, whose memory `reading` counts; `signal` ends the exchange at once
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
      // Called right before the first byte is written. A request that waited for its connection while it was stopped
      // must not be written any more, and one that was written once must not be written again.
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
    const tooLarge = (reason = `the answer is larger than ${maxBytes} bytes`): void => {
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
