/**
 * Destinations that follow a script. The script of a host or path defines the response to each request in order. One
 * real HTTP server on a loopback port serves all of them. It starts with the first script and does not keep the process
 * alive.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Clock } from '#foundation/platform/clock.ts';
import type { PortOf } from '../delivery/delivery.ts';
import { headerTexts } from '../state/header-text.ts';
import { attemptId } from '../state/message.ts';
import { HeldAttempts } from './held-attempts.ts';
import { playStep } from './scripted-answer.ts';
import { readPlace, ScriptedHosts, type ScriptedRequest } from './scripted-hosts.ts';
import type { Step } from '../types/public.ts';
import { readSteps, ScriptError } from './scripted-steps.ts';
import { deliveryHeaderNames } from '../delivery/wire-names.ts';

export interface ScriptedDestinations {
  /**
   * Sets the steps of `place`: a host name, or `host/path` for that path and all below it. The previous script of the
   * place is discarded. The longest matching path applies. A host with scripts only for paths responds 404 elsewhere.
   *
   * @throws {ScriptError}
   */
  script(place: string, steps: readonly Step[]): Promise<void>;
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
  const hosts = new ScriptedHosts();
  const held = new HeldAttempts(clock, () => options.onHeld?.());
  let port: number | undefined;
  let starting: Promise<void> | undefined;
  let stopped = false;
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => socket.unref());

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '/', headers } = request;
    const host = new URL(`http://${headers.host}`).hostname;
    const body = await buffer(request);
    const step = hosts.take(host, path) ?? { status: 404 };
    hosts.record(host, { at: clock.now(), method, path, headers: headerTexts(headers), body });
    const attempt = attemptId(String(headers[idHeader]), Number(headers[retriedHeader]) + 1);
    response.on('close', () => held.release(attempt));
    await playStep(step, { attempt, held, response, nonRetryableHeader: names.nonRetryable });
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
      const where = readPlace(place);
      if (stopped) throw new ScriptError('the scripted destinations have stopped');
      await (starting ??= listen());
      hosts.script(where, read);
    },
    knows: (host) => hosts.knows(host),
    holds: (attempt) => held.has(attempt),
    requests: (host) => hosts.requests(host),
    hosts: ({ hostname, pathname }) => {
      if (!hosts.knows(hostname)) return undefined;
      return hosts.takeRefusal(hostname, pathname) ? NOBODY : port;
    },
    clear: (host) => hosts.clear(host),
    async stop() {
      if (stopped) return;
      stopped = true;
      held.stop();
      if (starting === undefined) return;
      await starting;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
