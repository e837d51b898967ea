/**
 * Real HTTP servers for the sample traffic, one on a loopback port per host name: fast, flaky, slow, strict, and an
 * application whose workflows fail and recover. They stop promptly and do not keep the process alive.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { sampleHandlers, type AppSwitch, type SampleHost } from './handlers.ts';

export interface SampleDestinations extends AsyncDisposable {
  /** Loopback port by host name. */
  readonly hosts: Readonly<Record<SampleHost, number>>;
  /** True while the application rejects every invoice, with 503 or 422. */
  isBroken(): boolean;
  setBroken(isBroken: boolean): void;
  /** Aborts requests in progress. Idempotent. */
  stop(): Promise<void>;
}

/** Maximum body size; longer bodies are cut. The sample traffic sends none. */
const MAX_BODY_BYTES = 65_536;

/** @param deps.seed makes each response depend on the request and its time alone, not on the order of requests */
export async function startSampleDestinations(deps: {
  readonly clock: Clock;
  readonly random: Random;
  readonly seed?: number | undefined;
}): Promise<SampleDestinations> {
  const app: AppSwitch = { isBroken: false, wasUsed: false };
  const { seed } = deps;
  let { random } = deps;
  const handlers = sampleHandlers({ ...deps, app, random: () => random() });
  const timers = new Set<Timer>();
  const servers: Server[] = [];
  const hosts: Partial<Record<SampleHost, number>> = {};

  function serve(host: SampleHost): Server {
    const server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        if (text.length < MAX_BODY_BYTES) text += chunk;
      });
      request.on('end', () => {
        if (seed !== undefined) random = seededRandom(crc32(`${host} ${text} ${deps.clock.now()}`, seed));
        const answer = handlers[host]({ path: request.url ?? '/', body: parsed(text) });
        const timer = deps.clock.after(answer.afterMs, () => {
          timers.delete(timer);
          if (answer.reset === true) {
            request.socket.resetAndDestroy();
            return;
          }
          response.writeHead(answer.status, { 'Content-Type': 'application/json' });
          response.end(JSON.stringify(answer.body));
        });
        timers.add(timer);
      });
    });
    server.on('connection', (socket) => socket.unref());
    server.unref();
    return server;
  }

  async function stop(): Promise<void> {
    for (const timer of timers) timer.cancel();
    timers.clear();
    await Promise.all(
      servers.splice(0).map((server) => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        return closed;
      }),
    );
  }

  try {
    for (const host of Object.keys(handlers) as SampleHost[]) {
      const server = serve(host);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', resolve);
      });
      servers.push(server);
      hosts[host] = (server.address() as AddressInfo).port;
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    hosts: hosts as Record<SampleHost, number>,
    isBroken: () => app.isBroken,
    setBroken: (isBroken) => Object.assign(app, { isBroken, wasUsed: true }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
