/**
 * How the catalogue says what a metric is. A family is what one source tells: its metrics share the account label, the
 * collector that decides whether they are fresh, and the heading in the documentation.
 */
import type { CollectorName } from '#foundation/domain/observation.ts';

export type MetricType = 'gauge' | 'counter' | 'histogram';

/** Decides the unit in dashboards, and which values make sense (values.ts). */
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

/** How series are put together when a cardinality limit gives them the same labels. */
type Merge = 'sum' | 'min' | 'max';

export interface MetricBody {
  readonly type: MetricType;
  /** Without `account`, which the family adds. */
  readonly labels: readonly string[];
  readonly unit: Unit;
  /** Field of the service's answer, or what else it is taken from. */
  readonly source: string;
  readonly help: string;
  readonly merge?: Merge;
  /** A label set that was seen stays at 0 for a day rather than vanishing. */
  readonly lingers?: true;
  /** A total kept in the store: the registry shows what is committed there. */
  readonly mirrored?: true;
  /** For the developers of the daemon: exposed with `telemetry.metrics.debug` only. No rule, dashboard or runbook uses it. */
  readonly debug?: true;
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets?: readonly number[];
}

export interface FamilyHead {
  readonly heading: string;
  /** Whether its series concern an account, and carry `account` as first label. */
  readonly account: boolean;
  /** Its gauges are withheld while this collector's data is stale. */
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

/** The metrics of one family, each with the family's head. */
export function family<const H extends FamilyHead, M extends Readonly<Record<string, MetricBody>>>(
  head: H,
  metrics: M,
): { readonly [N in keyof M]: M[N] & H } {
  const whole = Object.fromEntries(Object.entries(metrics).map(([name, body]) => [name, { ...head, ...body }]));
  return whole as { readonly [N in keyof M]: M[N] & H };
}
