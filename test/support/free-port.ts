import { createServer } from 'node:net';

/** Ports below those that systems give to connections and to `port: 0`, where another test could be given the same. */
const FIRST = 20_000;
const PER_WORKER = 1_000;
/** Number of parts. A worker of vitest has the part of its number, and a bench has the first one. */
const PARTS = 12;

/** The ports of this process are taken in order, so that it never gives one to two programs. */
let taken = Math.floor(Math.random() * PER_WORKER);

/**
 * Returns a free port of 127.0.0.1 for programs that cannot report the port that they selected, or that start later or
 * again. No test that runs at the same time is given it.
 *
 * @throws {Error} when no port of this worker is free
 */
export async function freePort(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % PARTS;
  for (let tries = 0; tries < PER_WORKER; tries++) {
    const port = FIRST + worker * PER_WORKER + (taken++ % PER_WORKER);
    if (await isFree(port)) return port;
  }
  throw new Error(`Each of ${PER_WORKER} ports from ${FIRST + worker * PER_WORKER} is in use`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
