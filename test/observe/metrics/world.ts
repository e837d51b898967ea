/** The environment of the metrics: a board, a bus, a stopped clock, and totals. */
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { loadMetrics } from '#observe/metrics/stored-metrics.ts';
import { createMetrics, type Metrics } from '#observe/metrics/metrics.ts';
import type { MetricsDeps, GaugeFacts } from '#observe/metrics/sources.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { Batch, CollectorName, Observations } from '#foundation/domain/observation.ts';
import type { Increment } from '#observe/aggregation/totals.ts';
import type { Format } from '#observe/metrics/series.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createTotals, type StoredTotals } from '#storage/totals.ts';
import { memoryStore } from '../../support/memory-store.ts';

/** 2026-05-04 12:00 UTC */
export const NOW = Date.UTC(2026, 4, 4, 12);

/** Readings of an engine without policies. */
export const CALM: EngineReadings = {
  unknownOutcomes: 0,
  approvals: [],
  deploys: [],
  caps: [],
  paused: new Map([['engine', false]]),
  isLeader: true,
};

const NOTHING_STORED: GaugeFacts = { policies: [], engine: CALM, budgets: new Map(), bodyBytes: new Map() };

export interface World {
  readonly metrics: Metrics;
  readonly board: ObservationBoard;
  readonly events: EventBus;
  readonly clock: ManualClock;
  readonly totals: StoredTotals;
  readonly publish: <N extends CollectorName>(collector: N, rows: Batch<N>['rows'], account?: string) => void;
  /** Returns the whole text of a scrape. */
  readonly text: (format?: Format) => Promise<string>;
  /** Renders, and returns each sample by its name and labels as in the text. */
  readonly scrape: () => Promise<Map<string, number>>;
}

export interface WorldOptions {
  /** `telemetry.metrics` of the configuration. */
  readonly metrics?: object;
  readonly accounts?: MetricsDeps['accounts'];
  readonly collectors?: readonly CollectorName[];
  readonly deps?: Partial<MetricsDeps>;
  /** Facts of the store at the time of the call; default: nothing has happened. */
  readonly facts?: () => Promise<Partial<GaugeFacts>>;
  /** Increments of `prod` in the store at the start. */
  readonly stored?: readonly Increment[];
  /** Totals from before. */
  readonly totals?: StoredTotals;
}

const ALL_COLLECTORS = [
  'logs',
  'accountStats',
  'flowControl',
  'workflowDlq',
  'urlGroups',
  'searchIndexes',
  'vectorStats',
] as const satisfies readonly CollectorName[];

export async function world(options: WorldOptions = {}): Promise<World> {
  const clock = new ManualClock(NOW);
  const board = new ObservationBoard(clock);
  const events = new EventBus();
  const accounts = options.accounts ?? [
    { name: 'prod', apis: ['message', 'management'], requestsPerDay: 1_000, dlqRetentionMs: 7 * 86_400_000 },
  ];
  const store = memoryStore();
  const totals = options.totals ?? createTotals(store);
  await totals.add('prod', options.stored ?? []);
  const labels = createLabelStore(store, totals);
  keepCounts({ events, totals, clock });
  for (const { name: account } of accounts) {
    for (const collector of options.collectors ?? ALL_COLLECTORS) {
      board.register({ account, collector, schedule: 'every 1m', intervalMs: 60_000, maxStalenessMs: 180_000 });
    }
  }
  const metrics = createMetrics({
    board,
    events,
    clock,
    settings: metricsSettings.parse({ newSeriesZeroFor: '0s', debug: true, ...options.metrics }),
    accounts,
    totals,
    labels,
    stored: await loadMetrics({ totals: options.deps?.totals ?? totals, labels }, accounts),
    usage: () => ({ usedToday: 7, allowedPerDay: 1_000 }),
    configuredPolicies: [],
    facts: async () => ({ ...NOTHING_STORED, ...(await options.facts?.()) }),
    stateRestored: false,
    configHash: '00000000002a',
    build: { version: '1.2.3', revision: 'abc' },
    ...options.deps,
  });
  const text = async (format: Format = 'text') => Buffer.concat((await metrics.render(format)).parts).toString('utf8');
  return {
    metrics,
    board,
    events,
    clock,
    totals,
    text,
    publish(collector, rows, account = 'prod') {
      board.publish({ account, collector, rows, at: clock.now(), dropped: 0 }, 25);
    },
    async scrape() {
      await metrics.readStore();
      return parse(await text());
    },
  };
}

function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const at = line.lastIndexOf(' ');
    const series = line.slice(0, at);
    if (samples.has(series)) throw new Error(`series appears twice: ${series}`);
    const value = line.slice(at + 1).replace('+Inf', 'Infinity');
    if (Number.isNaN(Number(value))) throw new Error(`not a number: ${line}`);
    samples.set(series, Number(value));
  }
  return samples;
}

/** Returns the series of a metric with their values. */
export function seriesOf(samples: ReadonlyMap<string, number>, metric: string): Record<string, number> {
  return Object.fromEntries([...samples].filter(([series]) => series === metric || series.startsWith(`${metric}{`)));
}

/** Publishes a batch of each collector that produces at least one series of each of its metrics. */
export function publishEverything({ publish, clock }: World): void {
  const at = clock.now();
  const points = [{ at: at - 3_600_000, value: 5 }];
  const rows: { readonly [N in CollectorName]: readonly Observations[N][] } = {
    logs: [{ watermark: at - 15_000, inFlight: [{ destination: 'a.example', messages: 2, oldestDueAt: at - 20_000 }] }],
    flowControl: [
      {
        flowControlKey: 'billing',
        waitListSize: 3,
        parallelismMax: 5,
        parallelismCount: 4,
        rateMax: 10,
        rateCount: 2,
        ratePeriod: 60,
        ratePeriodStart: at,
        isPinnedParallelism: true,
        isPinnedRate: false,
        isPaused: false,
      },
    ],
    workflowDlq: [dlqRow('a', { flowControlKey: 'billing', labels: ['vip'] })],
    urlGroups: [{ name: 'group', createdAt: at, updatedAt: at, endpoints: [{ url: 'https://a.example' }] }],
    accountStats: [
      {
        dlqMessages: 4,
        monthBillingUsd: 12.5,
        dailyBillings: [{ at, value: 0.5 }],
        dailyBandwidths: [{ at, value: 100 }],
        dailyRequests: [{ at, value: 9, workflowMessages: 2, workflowRuns: 1 }],
        pointsCheck: { at, sources: [{ source: 'used', points: 9, day: 10, isWrong: false }] },
        reconciled: [{ state: 'DELIVERED', hour: at, logs: 10, statistics: 9, agrees: true, isLasting: false }],
        spend: { forecastUsd: 20, exhaustedAt: at },
        aggregated: [{ source: 'used', series: '', at }],
      },
    ],
    searchIndexes: [
      {
        index: 'idx-1',
        name: 'products',
        plan: 'payg',
        region: 'eu-west-1',
        maxVectors: 1,
        maxMonthlyReranks: Infinity,
        maxDailyUpdates: 1,
        maxDailyQueries: 1,
        maxMonthlyBandwidth: 1,
        maxWritesPerSecond: 1,
        maxQueriesPerSecond: 1,
        maxReadsPerRequest: 1,
        maxWritesPerRequest: 1,
        createdAt: at,
        inputEnrichmentEnabled: true,
        hasIntegration: false,
        throughput: points,
      },
    ],
    vectorStats: [
      {
        index: 'vec-1',
        vectors: 1,
        pendingVectors: 1,
        storageBytes: 1,
        dayQueries: 1,
        dayUpdates: 1,
        dayReranks: 1,
        monthQueries: 1,
        monthUpdates: 1,
        monthReranks: 1,
        monthBandwidthBytes: 1,
        monthCostUsd: 1,
        dailyBandwidths: [{ at, value: 1 }],
        dataSize: points,
        latencyMean: { query: points },
        latencyP99: { query: points },
        throughput: { query: points },
      },
    ],
  };
  for (const collector of ALL_COLLECTORS) publish(collector, rows[collector]);
}

export function dlqRow(dlqId: string, more: Partial<Observations['workflowDlq']> = {}): Observations['workflowDlq'] {
  return {
    dlqId,
    workflowRunId: `wfr-${dlqId}`,
    workflowUrl: 'https://app.example/workflows/order',
    createdAt: NOW - 60_000,
    labels: [],
    ...more,
  };
}
