/**
 * Sends a POST to an external server, with limits on the time and on the size of the response. Follows no redirects.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from './clock.ts';
import { httpDate, retryAfter } from './retry-after.ts';
import { withTimeout } from './sleep.ts';

export interface PostAnswer {
  readonly status: number;
  /** Wait that the receiver requests, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly contentType: string;
  readonly body: Buffer;
}

export interface HttpPost extends Disposable {
  /** Sends a POST. Rejects if there was no complete response in time. */
  send(
    url: string,
    message: { readonly headers: Readonly<Record<string, string | number>>; readonly body: Uint8Array },
    signal: AbortSignal,
  ): Promise<PostAnswer>;
}

export interface HttpPostOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly tls?: SecureContextOptions;
}

const MOST_ANSWER_BYTES = 65_536;

export function createHttpPost({ clock, timeoutMs, tls }: HttpPostOptions): HttpPost {
  const plain = { request: httpRequest, agent: new HttpAgent({ keepAlive: true }) };
  let secure: Promise<typeof plain> | undefined;

  /** Loads TLS on demand. */
  async function loadSecure(): Promise<typeof plain> {
    const https = await import('node:https');
    return { request: https.request, agent: new https.Agent({ keepAlive: true, ...tls }) };
  }

  return {
    async send(url, { headers, body }, signal) {
      const { request, agent } = url.startsWith('https:') ? await (secure ??= loadSecure()) : plain;
      const all = { ...headers, 'content-length': body.length };
      const answer = await withTimeout(clock, timeoutMs, signal, (within) =>
        exchange(request, url, { method: 'POST', headers: all, agent, signal: within }, body),
      );
      const servedAt = httpDate(answer.headers.date ?? '');
      const retryAfterMs = retryAfter(answer.headers['retry-after'], servedAt || clock.now());
      return {
        status: answer.status,
        contentType: answer.headers['content-type'] ?? '',
        body: answer.body,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      };
    },
    [Symbol.dispose]() {
      plain.agent.destroy();
      void secure?.then(({ agent }) => agent.destroy());
    },
  };
}

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function exchange(
  request: typeof httpRequest,
  url: string,
  options: RequestOptions,
  body: Uint8Array,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      read(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function read(response: IncomingMessage): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_ANSWER_BYTES) chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}
