/**
 * Sends a POST to an external server, with limits on the time and on the size of the response. Follows no redirects.
 */
import type { IncomingMessage, RequestOptions, request as httpRequest } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import type { ClientPair } from './client-pair.ts';
import type { Clock } from './clock.ts';
import { getOrAdd } from './get-or-add.ts';
import { openAgent, type HttpAgent } from './http-agents.ts';
import { httpDate, retryAfter } from './retry-after.ts';
import { withTimeout } from './sleep.ts';

export interface PostAnswer {
  readonly status: number;
  /** Wait that the receiver requests, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly contentType: string;
  readonly body: Buffer;
}

interface PostMessage {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Uint8Array;
  /** Connections with another certificate are not used. */
  readonly client?: ClientPair;
}

export interface HttpPost extends Disposable {
  /** Sends a POST. Rejects if there was no complete response in time. */
  send(url: string, message: PostMessage, signal: AbortSignal): Promise<PostAnswer>;
}

export interface HttpPostOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly tls?: SecureContextOptions;
}

/** The receiver closed a connection that was used before, without a response. A message may be sent twice. */
class StaleConnection extends Error {}

const STALE: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);

const MOST_ANSWER_BYTES = 65_536;

export function createHttpPost({ clock, timeoutMs, tls }: HttpPostOptions): HttpPost {
  /** By protocol, opened on demand. */
  const agents = new Map<string, Promise<HttpAgent>>();

  return {
    async send(url, { headers, body, client }, signal) {
      const { protocol } = new URL(url);
      const { request, agent } = await getOrAdd(agents, protocol, () =>
        openAgent(protocol, { keepAlive: true, ...tls }),
      );
      const all = { 'accept-encoding': 'identity', ...headers, 'content-length': body.length };
      const answer = await withTimeout(clock, timeoutMs, signal, async (within) => {
        // The signal ends no tunnel that a proxy is opening; the timeout does.
        const options = { method: 'POST', headers: all, agent, signal: within, timeout: timeoutMs, ...client };
        const post = () => exchange(request, url, options, body);
        try {
          return await post();
        } catch (error) {
          if (!(error instanceof StaleConnection)) throw error;
          // Other unused connections may be as old.
          for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
          return await post();
        }
      });
      const servedAt = httpDate(answer.headers.date ?? '');
      const retryAfterMs = retryAfter(answer.headers['retry-after'], servedAt || clock.now());
      return {
        status: answer.status,
        contentType: answer.headers['content-type'] ?? '',
        body: answer.body,
        retryAfterMs,
      };
    },
    [Symbol.dispose]() {
      for (const opened of agents.values()) {
        void opened.then(
          ({ agent }) => agent.destroy(),
          () => undefined,
        );
      }
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
    let hasBegun = false;
    const sent = request(url, options, (response) => {
      hasBegun = true;
      read(response).then(resolve, reject);
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && !hasBegun && STALE.has(error.code);
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
    });
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

/** Appends a path to that of a URL. A query stays at its end. */
export function withPath(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/(?<!\/)\/+$/, '') + path;
  url.hash = '';
  return url.href;
}
