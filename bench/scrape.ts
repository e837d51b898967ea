/**
 * Cost of a scrape: time until a client has the whole body, CPU time of the event loop's thread, and the longest turn
 * of the loop. The run compares the daemon's metrics behind its real server with plain prom-client behind node:http,
 * with the same series in separate processes. The ratios are the result.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { figures, stop } from './measure.ts';
import type { Ask, Ready, Told } from './scrape-series.ts';

const SIZES = (process.env['SERIES'] ?? '1000,10000,100000,500000').split(',').map(Number);
const ROUNDS = Number(process.env['ROUNDS'] ?? 7);
/** False to leave out the memory. */
const HAS_MEMORY = process.env['MEMORY'] !== 'no';

const CONTESTANTS = [
  { name: 'prom-client', kind: 'plain', headers: {} },
  { name: 'opsd', kind: 'opsd', headers: {} },
  { name: 'opsd, gzip', kind: 'opsd', headers: { 'Accept-Encoding': 'gzip' } },
  {
    name: 'opsd, OpenMetrics and gzip',
    kind: 'opsd',
    headers: { 'Accept-Encoding': 'gzip', Accept: 'application/openmetrics-text' },
  },
] as const;

const agent = new Agent({ keepAlive: true });

interface Cost {
  readonly wallMs: number;
  readonly busyMs: number;
  readonly longestMs: number;
  readonly bytes: number;
}

/** Reads the whole body and discards it. */
function scrape(port: number, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics', agent, headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.once('end', () => {
        const expected = response.headers['content-length'];
        if (response.statusCode !== 200 || (expected !== undefined && Number(expected) !== bytes)) {
          reject(new Error(`scrape answered ${response.statusCode} with ${bytes} of ${expected} bytes`));
        } else resolve(bytes);
      });
      response.once('error', reject);
    }).once('error', reject);
  });
}

async function ask(child: ChildProcess, question: Ask): Promise<number> {
  child.send(question);
  const [{ value }] = (await once(child, 'message')) as [Told];
  return value;
}

async function measure(child: ChildProcess, scrapeOnce: () => Promise<number>, change: boolean): Promise<Cost> {
  const rounds: Cost[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    if (change) await ask(child, { what: 'change' });
    await ask(child, { what: 'begin', how: 'busy' });
    const started = performance.now();
    const bytes = await scrapeOnce();
    const wallMs = performance.now() - started;
    const busyMs = await ask(child, { what: 'end', how: 'busy' });
    if (change) await ask(child, { what: 'change' });
    await ask(child, { what: 'begin', how: 'longest' });
    await scrapeOnce();
    const longestMs = await ask(child, { what: 'end', how: 'longest' });
    // The first round fills the caches.
    if (round > 0) rounds.push({ wallMs, busyMs, longestMs, bytes });
  }
  const median = (pick: (round: Cost) => number): number => figures(rounds.map(pick)).median;
  return {
    wallMs: median(({ wallMs }) => wallMs),
    busyMs: median(({ busyMs }) => busyMs),
    longestMs: median(({ longestMs }) => longestMs),
    bytes: rounds[0]!.bytes,
  };
}

async function contestant(
  kind: string,
  series: number,
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(join(import.meta.dirname, 'scrape-process.ts'), [kind, String(series)], {
    execArgv: ['--expose-gc', '--max-semi-space-size=4'],
  });
  const [{ port }] = (await once(child, 'message')) as [Ready];
  return { child, port };
}

async function memory(): Promise<void> {
  console.log('\nmemory of 100,000 series');
  for (const kind of ['plain', 'opsd', 'counters']) {
    const { child, port } = await contestant(kind, 100_000);
    const written = await ask(child, { what: 'memory' });
    for (const { headers } of CONTESTANTS) await scrape(port, headers);
    const scraped = await ask(child, { what: 'memory' });
    const what = { plain: 'prom-client', opsd: 'opsd', counters: 'opsd, counters alone' }[kind]!;
    console.log(`${what.padEnd(28)}written ${mega(written)}, scraped in every way ${mega(scraped)}`);
    await stop(child);
  }
}

for (const size of SIZES) {
  console.log(`\n${size.toLocaleString('en')} series, medians of ${ROUNDS}`);
  console.log(
    `${''.padEnd(28)}  nothing changed                          one in ten changed                             body`,
  );
  console.log(`${''.padEnd(28)}${'   total     CPU longest   x CPU  x long'.repeat(2)}`);
  let plain: { readonly still: Cost; readonly changed: Cost } | undefined;
  for (const { name, kind, headers } of CONTESTANTS) {
    const { child, port } = await contestant(kind, size);
    const scrapeOnce = (): Promise<number> => scrape(port, headers);
    const still = await measure(child, scrapeOnce, false);
    const changed = await measure(child, scrapeOnce, true);
    plain ??= { still, changed };
    const body = `${(still.bytes / 1e6).toFixed(2)} MB`.padStart(10);
    console.log(name.padEnd(28) + cost(still, plain.still) + cost(changed, plain.changed) + body);
    await stop(child);
  }
}

if (HAS_MEMORY) await memory();
agent.destroy();

function cost({ wallMs, busyMs, longestMs }: Cost, floor: Cost): string {
  const ms = [wallMs, busyMs, longestMs].map((value) => value.toFixed(2).padStart(8));
  const ratios = [floor.busyMs / busyMs, floor.longestMs / longestMs].map((value) => value.toFixed(2).padStart(8));
  return [...ms, ...ratios].join('');
}

function mega(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
