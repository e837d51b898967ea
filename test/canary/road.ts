/**
 * A road to a server: a reverse proxy on a loopback port. It can be closed, answer by itself, lose a response, change a
 * body, or hold a request, as the network and the proxies of an installation do.
 */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Clock } from '#foundation/platform/clock.ts';

export interface Traveler {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** What happens to a request. */
export type Fate =
  | 'pass'
  /** The request is lost, and its connection breaks. */
  | 'break'
  /** The request passes, and its response is lost. */
  | 'lose'
  /** The request is lost, and its connection stays open. */
  | 'hang'
  /** The request does not pass. */
  | { readonly status: number; readonly body?: string }
  | Detour;

/** The request passes, but not as it is. */
interface Detour {
  /** Wait before the request passes, in milliseconds. */
  readonly afterMs?: number;
  /** Wait before its response passes, in milliseconds. */
  readonly answerAfterMs?: number;
  /** Body in place of the request's. */
  readonly body?: Buffer;
}

type Choose = (request: Traveler) => Fate;

export interface Road extends AsyncDisposable {
  readonly url: string;
  /** Requests that arrived at the road. */
  readonly seen: readonly Traveler[];
  /** Base URL of the server. */
  lead(target: string): void;
  /** Adds a choice. The first one that does not let a request pass applies. */
  choose(choice: Choose): void;
  /** Refuses connections. */
  close(): Promise<void>;
}

export async function openRoad(clock: Clock): Promise<Road> {
  const agent = new Agent({ keepAlive: true });
  const seen: Traveler[] = [];
  let target = '';
  const choices: Choose[] = [];
  const server = createServer((message, response) => void arrive(message, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function arrive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = message;
    const traveler = { method, path, headers, body: await buffer(message) };
    seen.push(traveler);
    const fate = choices.map((choose) => choose(traveler)).find((chosen) => chosen !== 'pass') ?? 'pass';
    if (fate === 'hang') return;
    if (fate === 'break') return void response.socket?.resetAndDestroy();
    if (typeof fate === 'object' && 'status' in fate) {
      response.writeHead(fate.status).end(fate.body);
      return;
    }
    const { afterMs = 0, answerAfterMs = 0, body = traveler.body } = typeof fate === 'object' ? fate : {};
    await wait(afterMs);
    const answer = await forward({ ...traveler, body });
    await wait(answerAfterMs);
    if (fate === 'lose') return void response.socket?.resetAndDestroy();
    if (!response.destroyed) response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  async function forward({ method, path, headers, body }: Traveler) {
    const { 'transfer-encoding': _, 'content-length': __, connection: ___, ...rest } = headers;
    const onward = httpRequest(`${target}${path}`, {
      method,
      agent,
      headers: { ...rest, 'content-length': body.length },
    });
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 502, headers: plain(answer.headers), body: await buffer(answer) };
  }

  const wait = async (ms: number): Promise<void> => {
    if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve));
  };
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return {
    url,
    seen,
    lead: (to) => void (target = to),
    choose: (choice) => void choices.push(choice),
    close,
    async [Symbol.asyncDispose]() {
      await close();
      agent.destroy();
    },
  };
}

/** The road sends the body whole, so headers of its transfer do not apply. */
function plain(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...rest } = headers;
  return rest;
}
