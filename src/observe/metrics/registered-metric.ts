/**
 * The metrics as prom-client's registry has them: it knows each by name, help and type, and asks for its samples. The
 * samples live in our own tables, since prom-client's histograms cannot take what was counted elsewhere.
 */
import type { Metric, Registry } from 'prom-client';
import { parseLabels, shown } from './exposition-text.ts';
import type { Child, SeriesTable } from './series.ts';

interface RegistrySample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
  readonly exemplar?: {
    readonly labelSet: Readonly<Record<string, string>>;
    readonly value: number;
    /** Epoch seconds. */
    readonly timestamp: number;
  };
}

export function registerMetric(registry: Registry, table: SeriesTable): void {
  const { name, spec } = table;
  const metric = {
    name,
    help: spec.help,
    type: spec.type,
    aggregator: 'sum',
    get: () => {
      const { help, type, aggregator } = metric;
      return Promise.resolve({ name: metric.name, help, type, aggregator, values: samplesOf(table) });
    },
  };
  // What the registry uses of a metric; its type is a class with writers that this one does not have.
  registry.registerMetric(metric as unknown as Metric);
}

function samplesOf(table: SeriesTable): RegistrySample[] {
  const children = [...table.children()];
  if (table.spec.type === 'histogram') return children.flatMap((child) => histogramSamples(table, child));
  return children.map((child) => ({ labels: parseLabels(child.labels), value: shown(child, 'text') }));
}

function histogramSamples({ name, spec }: SeriesTable, child: Child): RegistrySample[] {
  const labels = parseLabels(child.labels);
  let count = 0;
  const buckets = [...spec.buckets!, '+Inf'].map((le, index): RegistrySample => {
    if (!child.held) count += child.buckets![index]!;
    const exemplar = child.held ? undefined : child.exemplars?.[index];
    return {
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value: count,
      ...(exemplar && {
        exemplar: {
          labelSet: { trace_id: exemplar.traceId, span_id: exemplar.spanId },
          value: exemplar.value,
          timestamp: exemplar.at / 1_000,
        },
      }),
    };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: shown(child, 'text') },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
