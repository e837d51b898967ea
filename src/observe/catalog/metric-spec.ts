/**
 * Specification of a metric in the catalog. A family has the metrics of one source. What most of its metrics share is
 * said once, in its head: the account label, the collector that determines their freshness, the heading in the
 * documentation, labels, source and unit.
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

interface Options {
  /** Labels without `account`, which the family adds. */
  readonly labels?: readonly string[];
  /** Default: the unit that the name ends with, else that of the family. */
  readonly unit?: Unit;
  /** Field of the service's response, or another source. */
  readonly source?: string;
  /** Merge function for series that get the same labels because of a cardinality limit. */
  readonly merge?: 'sum' | 'min' | 'max';
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

interface FamilyHead extends Pick<Options, 'labels' | 'unit' | 'source' | 'mirrored'> {
  readonly heading: string;
  /** True if the series belong to an account and have `account` as first label. */
  readonly account: boolean;
  /** Collector of the family. Its gauges are withheld while the collector's data is stale. */
  readonly collector?: CollectorName;
}

interface MetricBody extends Options {
  readonly type: MetricType;
  readonly help: string;
}

export type MetricSpec = FamilyHead & MetricBody & Required<Pick<Options, 'labels' | 'unit' | 'source'>>;

type LabelsOf<H, M> = M extends { readonly labels: infer L } ? L : H extends { readonly labels: infer L } ? L : [];

type Metrics<H extends FamilyHead, M extends Readonly<Record<string, MetricBody>>> = {
  readonly [N in keyof M]: MetricSpec & {
    readonly type: M[N]['type'];
    readonly account: H['account'];
    readonly labels: LabelsOf<H, M[N]>;
  };
};

const metric =
  <T extends MetricType>(type: T) =>
  <const O extends Options = {}>(help: string, options?: O) =>
    ({ type, help, ...options }) as { readonly type: T; readonly help: string } & O;

export const gauge = metric('gauge');
export const counter = metric('counter');
export const histogram = metric('histogram');

/** Returns a gauge that is 0 or 1. */
export function flagMetric<const O extends Options = {}>(help: string, options?: O) {
  return { ...gauge(help, options), unit: 'flag' as const };
}

/** Returns a family, whose metrics follow. */
export function family<const H extends FamilyHead>(head: H) {
  const { labels = [], source = 'derived', unit = 'items' } = head;
  return {
    of<M extends Readonly<Record<string, MetricBody>>>(metrics: M): Metrics<H, M> {
      const whole = Object.entries(metrics).map(([name, body]) => [
        name,
        { ...head, labels, source, unit: unitOf(name) ?? unit, ...body },
      ]);
      return Object.fromEntries(whole) as Metrics<H, M>;
    },
  };
}

/** Returns the unit that a name ends with. */
function unitOf(name: string): Unit | undefined {
  const [, unit] =
    /_(timestamp_seconds|seconds|bytes|dollars|messages|runs|requests|info|ratio)(?:_total)?$/.exec(name) ?? [];
  if (unit === 'timestamp_seconds') return 'timestamp';
  return unit === 'ratio' ? 'as served' : (unit as Unit | undefined);
}
