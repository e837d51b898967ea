/** Destinations of messages: hosts that respond, fail or hang by the seed, and the daemon's hooks. */
import type { Dispatcher } from 'undici';
import { exchange } from './exchange.ts';
import { currentProcess, presentLoop, type Loop } from './loop.ts';

export interface Answer {
  readonly afterMs: number;
  /** Status; 0 resets the connection. */
  readonly status: number;
}

const answers = new WeakMap<Loop, (url: URL) => Answer>();

export function setDestinations(loop: Loop, answer: (url: URL) => Answer): void {
  answers.set(loop, answer);
}

/** Responds to a delivery of the service. */
export async function answerDelivery(options: Dispatcher.RequestOptions): Promise<object> {
  const { origin, path, method } = options;
  const signal = options.signal as AbortSignal;
  const body = options.body as Uint8Array | null;
  const url = new URL(path, String(origin));
  const headers = options.headers as readonly string[];
  if (url.hostname === '127.0.0.1') {
    const named = Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]!]] : [])));
    const { status, text } = await exchange(currentProcess(), {
      url: url.origin,
      path,
      method,
      headers: named,
      signal,
      ...(body !== null && { body }),
    });
    return answerOf(status, text);
  }
  const { afterMs, status } = answers.get(presentLoop())!(url);
  const { promise, resolve, reject } = Promise.withResolvers<object>();
  const timer = presentLoop().after(afterMs, currentProcess(), `delivery ${url.href} ${status}`, () => {
    if (status === 0) reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    else resolve(answerOf(status, ''));
  });
  signal.addEventListener('abort', () => {
    timer.cancel();
    reject(signal.reason as Error);
  });
  return promise;
}

function answerOf(statusCode: number, text: string): object {
  return { statusCode, headers: {}, body: [Buffer.from(text)] };
}
