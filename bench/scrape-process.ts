/**
 * One contestant of the scrape benchmark in a separate process: `opsd`, the metrics of the daemon behind its real
 * server (`counters`: the same without histograms), or `plain`, prom-client's own metrics and `register.metrics()`
 * behind node:http.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Histogram, Registry } from 'prom-client';
import { createMetrics } from '#observe/metrics/metrics.ts';
import type { Format } from '#observe/metrics/series.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { labelNamesOf, specOf, type MetricName } from '#observe/catalog/catalog.ts';
import { OWN, type TotalsAdded, type TotalsFeed } from '#observe/aggregation/totals.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { EventBus } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { startServer } from '#operate/server.ts';
import { emptyPorts } from '../test/support/reading-ports.ts';
import { pause } from './measure.ts';
import {
  ACCOUNT,
  BUCKETS,
  COUNTERS,
  destinations,
  FAILURES,
  HISTOGRAM,
  oneInTen,
  REASONS,
  type Ask,
  type Ready,
  type Told,
} from './scrape-series.ts';

interface Contestant {
  readonly port: number;
  add(destinations: readonly string[]): void;
}

const [kind, series] = [process.argv[2], Number(process.argv[3])];
const histograms = kind !== 'counters';
const all = destinations(series, histograms);
const changing = oneInTen(all);
const contestant = await (kind === 'plain' ? plain() : opsd());
const before = await used();
contestant.add(all);
const ready: Ready = { port: contestant.port };
process.send!(ready);

async function used(): Promise<number> {
  // Released buffers are freed in the background.
  for (let round = 0; round < 4; round++) {
    globalThis.gc!();
    await pause(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function opsd(): Promise<Contestant> {
  let listener: ((added: TotalsAdded) => void) | undefined;
  const feed: TotalsFeed = {
    counters: [],
    histograms: [],
    onAdded: (added) => void (listener = added),
    [Symbol.dispose]: () => undefined,
  };
  const clock = systemClock;
  const board = new ObservationBoard(clock);
  const metrics = createMetrics({
    board,
    events: new EventBus(),
    clock,
    settings: metricsSettings.parse({
      newSeriesZeroFor: '0s',
      maxSeries: 5_000_000,
      labels: { destination: { max: 100_000 } },
    }),
    accounts: [{ name: ACCOUNT, apis: ['message'], requestsPerDay: 1 }],
    totals: { follow: async () => feed },
    labels: { save: async () => undefined, evict: async () => undefined },
    stored: {
      labels: [],
      totals: new Map([OWN, ACCOUNT].map((name) => [name, feed])),
      [Symbol.dispose]: () => undefined,
    },
    usage: () => ({ usedToday: 0, allowedPerDay: 1 }),
    configuredPolicies: [],
    facts: () => Promise.reject(new Error('no store')),
    stateRestored: true,
    configHash: '00000000002a',
    build: { version: '0', revision: '0' },
  });
  type Deps = Parameters<typeof startServer>[0];
  const deps: Deps = {
    clock,
    board,
    // The benchmark requests only metrics.
    operate: () => Promise.reject(new Error('no operations')),
    ledger: {} as Deps['ledger'],
    logger: createLogger({ level: 'error', destination: process.stderr }),
    metrics: (format: Format) => metrics.render(format),
    health: () => ({ healthy: true, detail: '' }),
    readiness: () => ({ ready: true, detail: '' }),
    policies: async () => [],
    engine: {} as Deps['engine'],
    state: {
      auditHead: async () => undefined,
      backup: () => Promise.resolve({ bytes: 0 }),
      adopt: async () => undefined,
      resetCounters: async () => [],
    },
    accounts: [],
    incidents: {} as Deps['incidents'],
    outages: () => [],
    deploy: () => Promise.reject(new Error('no deploys')),
    links: [],
    ...emptyPorts(),
    version: '0',
    startedAt: 0,
  };
  const server = await startServer(deps, { host: '127.0.0.1', port: 0 });
  const buckets = BUCKETS.map((_, at) => (at === 4 ? 1 : 0)).concat(0);
  return {
    port: Number(new URL(server.address).port),
    add: (hosts) =>
      listener!({
        account: ACCOUNT,
        increments: hosts.flatMap((host) => [
          ...COUNTERS.map((metric) => ({ metric, labels: [host], by: 1 })),
          ...FAILURES.flatMap((metric) => REASONS.map((reason) => ({ metric, labels: [host, reason, ''], by: 1 }))),
        ]),
        histograms: histograms
          ? hosts.map((host) => ({ metric: HISTOGRAM, labels: [host], buckets, sum: BUCKETS[4]! }))
          : [],
      }),
  };
}

async function plain(): Promise<Contestant> {
  const registry = new Registry();
  const options = (name: MetricName) => ({
    name,
    help: specOf(name).help,
    labelNames: labelNamesOf(name),
    registers: [registry],
  });
  const counters = COUNTERS.map((name) => new Counter(options(name)));
  const failures = FAILURES.map((name) => new Counter(options(name)));
  const histogram = new Histogram({ ...options(HISTOGRAM), buckets: [...BUCKETS] });
  const server = createServer((_request, response) => {
    void registry.metrics().then((text) => response.end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    add(hosts) {
      for (const destination of hosts) {
        for (const counter of counters) counter.inc({ account: ACCOUNT, destination });
        for (const failure of failures) {
          for (const reason of REASONS) failure.inc({ account: ACCOUNT, destination, reason, code: '' });
        }
        histogram.observe({ account: ACCOUNT, destination }, BUCKETS[4]!);
      }
    },
  };
}

let longest = 0;
let turnEnded = 0;
let spinning = false;
let cpuBefore = process.threadCpuUsage();

function spin(): void {
  const now = performance.now();
  longest = Math.max(longest, now - turnEnded);
  turnEnded = now;
  if (spinning) setImmediate(spin);
}

process.on('message', ({ what, how }: Ask) => {
  if (what === 'memory') {
    void used().then((bytes) => tell(bytes - before));
    return;
  }
  let value = 0;
  if (what === 'change') contestant.add(changing);
  if (what === 'begin') {
    globalThis.gc!();
    cpuBefore = process.threadCpuUsage();
    longest = 0;
    turnEnded = performance.now();
    spinning = how === 'longest';
    if (spinning) setImmediate(spin);
  }
  if (what === 'end') {
    value = how === 'longest' ? longest : cpuMs();
    spinning = false;
  }
  tell(value);
});

/** Returns the CPU time of the event loop's thread, which excludes the other load of the machine. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage(cpuBefore);
  return (user + system) / 1_000;
}

function tell(value: number): void {
  const told: Told = { value };
  process.send!(told);
}
