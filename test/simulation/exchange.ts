/** Requests of people and other programs to the daemon and to the service, over the simulated network. */
import { request } from 'node:http';
import { Agent } from './fakes/http.ts';
import { runAs, type Process } from './loop.ts';

export interface Exchange {
  readonly url?: string;
  readonly socketPath?: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Ends the request, and its connection. */
  readonly signal?: AbortSignal;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** Sends a request. Rejects if no complete response arrives. */
export function exchange(as: Process, of: Exchange) {
  const { url, socketPath, path, method = 'GET', headers, body, signal } = of;
  return runAs(as, () => {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const port = url === undefined ? undefined : Number(new URL(url).port);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const to = socketPath === undefined ? { host: '127.0.0.1', port } : { socketPath };
    const sent = request(
      { ...to, path, method, headers: { ...length, ...headers }, agent: new Agent(), signal },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', (error) => reject(signal?.aborted === true ? signal.reason : error));
    sent.end(body);
    return promise;
  });
}
