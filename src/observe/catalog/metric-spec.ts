/**
 * Specification of a metric in the catalog. A family has the metrics of one source. They share the account label, the
 * collector that determines their freshness, and the heading in the documentation.
 */
import type { CollectorName } from '#foundation/domain/observation.ts';

export type MetricType = 'gauge' | 'counter' | 'histogram';

/** Unit of a metric. It determines the unit in dashboards and the range of valid values (values.ts). */
export type Unit =
  | 'messages'
  | 'runs'
  | 'requests'
  | 'seconds'
  | 'timestamp'
  | 'bytes'
  | 'dollars'
  | 'flag'
  | 'info'
  | 'items'
  | 'as served';

/** Merge function for series that get the same labels because of a cardinality limit. */
type Merge = 'sum' | 'min' | 'max';

export interface MetricBody {
  readonly type: MetricType;
  /** Labels without `account`, which the family adds. */
  readonly labels: readonly string[];
  readonly unit: Unit;
  /** Field of the service's response, or another source. */
  readonly source: string;
  readonly help: string;
  readonly merge?: Merge;
  /** True if an exported label set stays at 0 for a day instead of disappearing. */
  readonly lingers?: true;
  /** True for a total in the store: the registry shows the committed value. */
  readonly mirrored?: true;
  /**
   * True for metrics that help the developers of the daemon. They are exported only with `telemetry.metrics.debug`. No
   * rule, dashboard or runbook uses them.
   */
  readonly debug?: true;
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[];
}

export interface FamilyHead {
  readonly heading: string;
  /** True if the series belong to an account and have `account` as first label. */
  readonly account: boolean;
  /** Collector of the family. Its gauges are withheld while the collector's data is stale. */
  readonly collector?: CollectorName;
}

export type MetricSpec = FamilyHead & MetricBody;

type More = Pick<MetricBody, 'merge' | 'lingers' | 'mirrored' | 'debug' | 'buckets'>;

export function gauge<const L extends readonly string[]>(
  labels: L,
  unit: Unit,
  source: string,
  help: string,
  more: More = {},
) {
  return { type: 'gauge' as const, labels, unit, source, help, ...more };
}

export function counter<const L extends readonly string[]>(
  labels: L,
  unit: Unit,
  source: string,
  help: string,
  more: More = {},
) {
  return { type: 'counter' as const, labels, unit, source, help, ...more };
}

export function histogram<const L extends readonly string[]>(
  labels: L,
  buckets: readonly number[],
  source: string,
  help: string,
  more: Pick<MetricBody, 'mirrored' | 'debug'> & { readonly unit?: Unit } = {},
) {
  const { unit = 'seconds', ...rest } = more;
  return { type: 'histogram' as const, labels, unit, source, help, buckets, ...rest };
}

/** Returns the metrics of one family, each with the family's head. */
export function family<const H extends FamilyHead, M extends Readonly<Record<string, MetricBody>>>(
  head: H,
  metrics: M,
): { readonly [N in keyof M]: M[N] & H } {
  const whole = Object.fromEntries(Object.entries(metrics).map(([name, body]) => [name, { ...head, ...body }]));
  return whole as { readonly [N in keyof M]: M[N] & H };
}
