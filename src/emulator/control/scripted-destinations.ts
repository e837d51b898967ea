/**
 * Destinations that follow a script. The script of a host or path defines the response to each request in order. One
 * real HTTP server on a loopback port serves all of them. It starts with the first script and does not keep the process
 * alive.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { PortOf } from '../delivery/delivery.ts';
import { attemptId } from '../state/message.ts';
import { readSteps, ScriptError, type ScriptedStep, type StepLike } from './scripted-steps.ts';
import { deliveryHeaderNames } from '../delivery/wire-names.ts';

interface ScriptedRequest {
  /** Epoch milliseconds of the service's clock. */
  readonly at: number;
  readonly method: string;
  /** Path and query as received. */
  readonly path: string;
  /** Headers by lower-case name. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ScriptedDestinations {
  /**
   * Sets the steps of `place`: a host name, or `host/path` for that path and all below it. The previous script of the
   * place is discarded. The longest matching path applies. A host with scripts only for paths responds 404 elsewhere.
   *
   * @throws {ScriptError}
   */
  script(place: string, steps: readonly StepLike[]): Promise<void>;
  /** Returns the requests to a host, oldest first, at most the last thousand. Refused connections are not included. */
  requests(host: string): readonly ScriptedRequest[];
  /** Returns the loopback port for one delivery; undefined for a host without a script. Called once per attempt. */
  readonly hosts: PortOf;
  /** Returns true if the host has a script. */
  knows(host: string): boolean;
  /** Returns true if an attempt (by its id) is held by a destination until the clock moves. */
  holds(attempt: string): boolean;
  /** Removes scripts and requests of one host, or of all. */
  clear(host?: string): void;
  /** Aborts requests in progress. Idempotent. */
  stop(): Promise<void>;
}

interface Script {
  readonly steps: readonly ScriptedStep[];
  /** Number of requests received, which selects the next step. */
  done: number;
}

interface Host {
  /** Scripts by path. The empty path is the whole host. */
  readonly scripts: Map<string, Script>;
  readonly requests: ScriptedRequest[];
}

const MAX_REQUESTS = 1_000;
/** Number of parts of a slow body. */
const PIECES = 10;
/** Loopback port without a listener. */
const NOBODY = 1;

export interface ScriptedDestinationsOptions {
  readonly clock: Clock;
  /** Default `Svc`. */
  readonly headerPrefix?: string | undefined;
  /** Called when an attempt begins to wait for the clock. */
  readonly onHeld?: () => void;
}

export function createScriptedDestinations(options: ScriptedDestinationsOptions): ScriptedDestinations {
  const { clock } = options;
  const names = deliveryHeaderNames(options.headerPrefix ?? 'Svc');
  const [idHeader, retriedHeader] = [names.messageId.toLowerCase(), names.retried.toLowerCase()];
  const hosts = new Map<string, Host>();
  /** Held attempts, each with its timer. An attempt that never gets a response has no timer. */
  const held = new Map<string, Timer | undefined>();
  let port: number | undefined;
  let starting: Promise<void> | undefined;
  let stopped = false;
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => socket.unref());

  function hostOf(name: string): Host {
    const host = hosts.get(name) ?? { scripts: new Map<string, Script>(), requests: [] };
    hosts.set(name, host);
    return host;
  }

  /** Waits on the service's clock. Never resolves if the attempt is aborted first. */
  async function wait(attempt: string, ms: number): Promise<void> {
    if (ms === 0) return;
    await new Promise<void>((resolve) => {
      const timer = clock.after(ms, () => {
        held.delete(attempt);
        resolve();
      });
      hold(attempt, timer);
    });
  }

  function hold(attempt: string, timer?: Timer): void {
    held.set(attempt, timer);
    options.onHeld?.();
  }

  function release(attempt: string): void {
    held.get(attempt)?.cancel();
    held.delete(attempt);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = hosts.get(new URL(`http://${request.headers.host}`).hostname);
    const body = await buffer(request);
    const path = request.url ?? '/';
    const script = host && scriptOf(host, path);
    // Another request may have taken the previous step in between. If this step is a refusal, it breaks the connection.
    const step: ScriptedStep = script === undefined ? { status: 404 } : take(script);
    if (host !== undefined) {
      host.requests.push({ at: clock.now(), method: request.method ?? '', path, headers: request.headers, body });
      if (host.requests.length > MAX_REQUESTS) host.requests.shift();
    }
    const { [idHeader]: id, [retriedHeader]: retried } = request.headers;
    const attempt = attemptId(String(id), Number(retried) + 1);
    response.on('close', () => release(attempt));
    await play(step, attempt, response);
  }

  async function play(step: ScriptedStep, attempt: string, response: ServerResponse): Promise<void> {
    const { fault } = step;
    if (response.destroyed) return;
    await wait(attempt, step.afterMs ?? 0);
    if (fault === 'hang') {
      hold(attempt);
      return;
    }
    if (fault === 'reset' || fault === 'refuse') {
      response.socket?.resetAndDestroy();
      return;
    }
    const body = Buffer.from(step.body ?? '');
    // A response without a body is complete with its headers.
    const bodyMs = body.length === 0 ? 0 : (step.bodyMs ?? 0);
    response.writeHead(step.status ?? 200, {
      ...step.headers,
      ...(step.retryAfter !== undefined && { 'Retry-After': String(step.retryAfter) }),
      ...(step.nonRetryable === true && { [names.nonRetryable]: 'true' }),
      // One byte more than the body, so that every cut is detectable.
      'Content-Length': body.length + (fault === 'cut' ? 1 : 0),
    });
    response.flushHeaders();
    if (bodyMs > 0) await arrival();
    const end = fault === 'cut' ? Math.floor(body.length / 2) : body.length;
    const pieces = bodyMs === 0 ? 1 : PIECES;
    for (let piece = 0; piece < pieces && !response.destroyed; piece++) {
      await wait(attempt, bodyMs / pieces);
      response.write(body.subarray(Math.floor((end * piece) / pieces), Math.floor((end * (piece + 1)) / pieces)));
      if (bodyMs > 0) await arrival();
    }
    // The written bytes are sent before the connection breaks.
    if (fault === 'cut') response.socket?.destroySoon();
    else response.end();
  }

  async function listen(): Promise<void> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
    port = (server.address() as AddressInfo).port;
  }

  return {
    async script(place, steps) {
      const read = readSteps(steps);
      const { host, path } = readPlace(place);
      if (stopped) throw new ScriptError('the scripted destinations have stopped');
      await (starting ??= listen());
      hostOf(host).scripts.set(path, { steps: read, done: 0 });
    },
    knows: (host) => hosts.has(host.toLowerCase()),
    holds: (attempt) => held.has(attempt),
    requests: (host) => [...(hosts.get(host.toLowerCase())?.requests ?? [])],
    hosts: ({ hostname, pathname }) => {
      const host = hosts.get(hostname);
      if (host === undefined) return undefined;
      const script = scriptOf(host, pathname);
      if (script === undefined || stepAt(script).fault !== 'refuse') return port;
      script.done++;
      return NOBODY;
    },
    clear: (host) => (host === undefined ? hosts.clear() : void hosts.delete(host.toLowerCase())),
    async stop() {
      if (stopped) return;
      stopped = true;
      for (const timer of held.values()) timer?.cancel();
      if (starting === undefined) return;
      await starting;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Waits two turns of the event loop. The receiver runs in this process and has then read the written bytes. */
async function arrival(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function readPlace(place: string): { readonly host: string; readonly path: string } {
  const [host, path] = [place.split('/', 1)[0]!.toLowerCase(), place.slice(place.indexOf('/') + 1)];
  if (URL.parse(`http://${host}/`)?.hostname !== host) {
    throw new ScriptError(`a place is a host name, or a host name with a path, not ${place.slice(0, 200)}`);
  }
  return { host, path: place.includes('/') ? `/${path}`.replace(/\/+$/, '') : '' };
}

/** Returns the script of the path, or of its nearest ancestor. */
function scriptOf(host: Host, target: string): Script | undefined {
  let path = target.split('?', 1)[0]!.replace(/\/+$/, '');
  for (;;) {
    const script = host.scripts.get(path);
    if (script !== undefined || path === '') return script;
    path = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  }
}

function stepAt({ steps, done }: Script): ScriptedStep {
  let left = done;
  for (const step of steps) {
    left -= step.times ?? 1;
    if (left < 0) return step;
  }
  return steps.at(-1)!;
}

function take(script: Script): ScriptedStep {
  const step = stepAt(script);
  script.done++;
  return step;
}
