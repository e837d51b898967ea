/**
 * A real HTTP proxy with a login: it opens tunnels and forwards requests in absolute form. Every host name leads to one
 * server on loopback.
 */
import { createServer, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import { onLoopback } from './loopback.ts';

/** Password that must appear nowhere. */
export const PROXY_PASSWORD = 'canary-proxy-password-61d0';

const LOGIN = `Basic ${Buffer.from(`opsd:${PROXY_PASSWORD}`).toString('base64')}`;

export interface HttpProxy {
  /** URL with the login, as in `HTTPS_PROXY`. */
  readonly url: string;
  /** Method and target of each request. */
  readonly requests: string[];
  /** Connections of all tunnels, also of refused ones. */
  readonly tunnels: readonly Socket[];
  /** Status that it returns instead, or what it does without a response. `hold` is for tunnels only. */
  refusal: number | 'hang up' | 'hold' | undefined;
}

/** @param target URL of the server */
export async function httpProxy(target: string): Promise<HttpProxy> {
  const { hostname, port } = new URL(target);
  const tunnels: Socket[] = [];
  const server = createServer((message, response) => {
    proxy.requests.push(`${message.method} ${message.url}`);
    const refusal = message.headers['proxy-authorization'] === LOGIN ? proxy.refusal : 407;
    if (refusal !== undefined) {
      if (typeof refusal === 'string') response.destroy();
      else response.writeHead(refusal).end();
      return;
    }
    const { pathname, search } = new URL(message.url!);
    const { 'proxy-authorization': _login, ...headers } = message.headers;
    const onward = httpRequest({ hostname, port, method: message.method, path: pathname + search, headers });
    onward.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)));
    message.pipe(onward.on('error', () => response.destroy()));
  });
  server.on('connect', (message, socket: Socket) => {
    proxy.requests.push(`CONNECT ${message.url}`);
    tunnels.push(socket.on('error', () => undefined));
    const refusal = message.headers['proxy-authorization'] === LOGIN ? proxy.refusal : 407;
    if (refusal === 'hang up') socket.destroy();
    else if (refusal === 'hold') socket.resume();
    else if (refusal !== undefined) socket.end(`HTTP/1.1 ${refusal} ${PROXY_PASSWORD}\r\n\r\n`);
    else {
      const onward = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      onward.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.on('close', () => onward.destroy());
      socket.pipe(onward).pipe(socket);
    }
  });
  const url = new URL(await onLoopback(server));
  onTestFinished(() => tunnels.forEach((socket) => socket.destroy()));
  url.username = 'opsd';
  url.password = PROXY_PASSWORD;
  const proxy: HttpProxy = { url: url.href, requests: [], tunnels, refusal: undefined };
  return proxy;
}

/** Sets the variables of proxies until the test ends, and clears the others. */
export function proxyEnvironment(env: Readonly<Record<string, string>>): void {
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) {
    for (const one of [name, name.toUpperCase()]) vi.stubEnv(one, env[one]);
  }
  onTestFinished(() => void vi.unstubAllEnvs());
}
