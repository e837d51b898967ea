/**
 * Metrics of the process and of Node.js. prom-client collects them and writes their text. They belong to the process:
 * their counters continue when the configuration is reloaded.
 */
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Registry, type Metric, type OpenMetricsContentType } from 'prom-client';
import { isProcessMetric, specOf } from '../catalog/catalog.ts';
import type { Format } from './series.ts';

/**
 * Interval of prom-client's monitor of event-loop delays, whose metrics are not exported. A long one costs the least.
 */
const MONITOR_INTERVAL_MS = 60_000;

let registries: ReturnType<typeof createRegistries> | undefined;

export interface ProcessReader {
  /**
   * Collects the metrics of the process. Resolves to their text without an end mark, or to an empty text on failure.
   */
  read(format: Format): Promise<string>;
  /** Names of the samples of the last reading. They have no labels. */
  readonly names: readonly string[];
}

export function createProcessReader(onFailure: () => void): ProcessReader {
  let text = '';
  return {
    async read(format) {
      try {
        text = await processText(format);
      } catch {
        text = '';
        onFailure();
      }
      return text;
    },
    get names() {
      return [...text.matchAll(/^(\w+) /gm)].map(([, name]) => name!);
    },
  };
}

async function processText(format: Format): Promise<string> {
  registries ??= createRegistries();
  const registry = format === 'openmetrics' ? registries.openmetrics : registries.text;
  const written = await registry.metrics();
  // prom-client writes `Nan` if there is no limit of file descriptors.
  return written.replaceAll(/^\w+ Nan\n/gm, '').replace(/^# EOF\n/m, '');
}

/**
 * Removes all metrics that are not in the catalog. The others break the naming rules of Prometheus
 * (`nodejs_active_handles_total` is a gauge) or are wrong. prom-client counts one garbage collection if several are
 * reported at once.
 */
function createRegistries() {
  const text = new Registry();
  const { user, system } = process.cpuUsage();
  collectDefaultMetrics({ register: text, eventLoopMonitoringPrecision: MONITOR_INTERVAL_MS });
  for (const { name } of text.getMetricsAsArray()) if (!isProcessMetric(name)) text.removeSingleMetric(name);
  // prom-client counts CPU time from here on. The earlier CPU time of the process is part of the total.
  (text.getSingleMetric('process_cpu_seconds_total') as Counter).inc((user + system) / 1e6);
  countUtilization(text);
  const openmetrics = new Registry<OpenMetricsContentType>();
  openmetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const { name } of text.getMetricsAsArray()) {
    // Registers a copy of the metric, because this registry permanently removes `_total` from the names of its
    // counters.
    openmetrics.registerMetric(Object.create(text.getSingleMetric(name)!) as Metric);
  }
  return { text, openmetrics };
}

function countUtilization(registry: Registry): void {
  let last: EventLoopUtilization = { active: 0, idle: 0, utilization: 0 };
  const options = (name: 'nodejs_eventloop_active_seconds_total' | 'nodejs_eventloop_idle_seconds_total') => ({
    name,
    help: specOf(name).help,
    registers: [registry],
  });
  const active = new Counter({
    ...options('nodejs_eventloop_active_seconds_total'),
    // This one is collected first and updates both counters.
    collect() {
      const now = performance.eventLoopUtilization();
      active.inc(Math.max(0, now.active - last.active) / 1_000);
      idle.inc(Math.max(0, now.idle - last.idle) / 1_000);
      last = now;
    },
  });
  const idle = new Counter(options('nodejs_eventloop_idle_seconds_total'));
}
