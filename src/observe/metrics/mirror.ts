/**
 * Mirrors the totals in the store as counters and histograms. They are read once, before the start; afterwards each
 * commit reports its increases. The registry therefore shows committed values, a restart continues the counters, and a
 * scrape reads nothing.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import { MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import { FAILURE_REASONS } from '#foundation/domain/reason.ts';
import { READER_COUNTERS } from '../aggregation/log-counts.ts';
import { OWN, RETIRED, type HistogramIncrement, type HistogramValue, type TotalsFeed } from '../aggregation/totals.ts';
import {
  isMetricName,
  METRIC_NAMES,
  specOf,
  type CounterName,
  type HistogramName,
  type MetricName,
} from '../catalog/catalog.ts';
import type { Families } from './families.ts';
import type { HistogramCounts } from './family-tables.ts';
import type { LabelLimiter } from './label-limiter.ts';
import type { MetricsDeps } from './sources.ts';
import { makesSense } from './values.ts';

/** Value of the code label for an attempt without a response. Prometheus treats an empty label as absent. */
const NO_CODE = '';

/** Counters that are created together for a destination, so that each has a 0 before its first count. */
const PER_DESTINATION = mirroredCounters('destination');
const FAILURES_PER_DESTINATION = mirroredCounters('destination,reason,code');

/** Counters of the daemon itself. Absent until the store was read, then at least 0. */
const OWN_COUNTERS = METRIC_NAMES.filter((name): name is CounterName => {
  const spec = specOf(name);
  return spec.mirrored === true && !spec.account && spec.labels.length === 0;
});
const SPAN_DROPS = ['queue', 'budget', 'too_old', 'unreadable', 'rejected', 'failed'];

/** Failures without a status. Those with one (`http`) appear together with it. */
const REASONS_WITHOUT_CODE = FAILURE_REASONS.filter((reason) => reason !== 'http');

export interface MirrorDeps extends Pick<MetricsDeps, 'accounts' | 'totals' | 'stored' | 'spanOf'> {
  readonly families: Families;
  readonly limiter: LabelLimiter;
}

export interface Mirror extends Disposable {
  /** Reads the accounts that could not be read before. Never rejects. Calls at the same time share a reading. */
  refresh(): Promise<void>;
}

type Labels = Record<string, string>;

interface Row {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Increases of a commit, or the initial state of the store. Its names are not validated yet. */
interface Added {
  readonly account: string;
  readonly increments: readonly (Row & { readonly by: number })[];
  readonly histograms: readonly AddedHistogram[];
  readonly reset?: readonly Row[];
}

type AddedHistogram = HistogramValue & Pick<HistogramIncrement, 'exemplars'>;

export function createMirror(deps: MirrorDeps): Mirror {
  const { families, totals, stored } = deps;
  const owned = new DisposableStack();
  let reading: Promise<void> | undefined;
  const accounts = new Set([OWN, ...deps.accounts.map(({ name }) => name)]);
  const unread = new Set(accounts);
  /** Series whose stored value was invalid. Their totals are unknown. */
  const unknown = new Set<string>();

  function add({ account, increments, histograms, reset = [] }: Added, restored: boolean): void {
    for (const row of reset) restart(deps, unknown, account, row);
    for (const { by, ...row } of increments) {
      const isValid = (): boolean => makesSense(specOf(row.metric as CounterName), by);
      const labels = labelsFor(account, row, { type: 'counter', isValid, restored });
      if (labels !== undefined) count(row.metric as CounterName, labels, by, restored);
    }
    for (const row of histograms) {
      const labels = labelsFor(account, row, { type: 'histogram', isValid: () => fits(row), restored });
      if (labels === undefined || unknown.has(keyOf(row.metric, labels))) continue;
      const added = observations(row, (id) => deps.spanOf?.(account, id));
      families.mirrorHistogram(row.metric as HistogramName, labels, added, restored);
    }
  }

  /** Returns the labels of a row to export. Creates the counters that appear together with it. */
  function labelsFor(
    account: string,
    row: Row,
    { type, isValid, restored }: { type: 'counter' | 'histogram'; isValid: () => boolean; restored: boolean },
  ): Labels | undefined {
    const labels = labelsOf(deps.limiter, account, row, type);
    if (labels === 'hidden') return undefined;
    if (labels !== undefined && isValid()) {
      createTogether(labels);
      return labels;
    }
    if (labels !== undefined && restored) unknown.add(keyOf(row.metric, labels));
    families.refuse('store');
    return undefined;
  }

  function count(metric: CounterName, labels: Labels, by: number, restored: boolean): void {
    if (!unknown.has(keyOf(metric, labels))) families.mirror(metric, labels, by, restored);
  }

  function createTogether({ account, destination }: Labels): void {
    if (account === undefined || destination === undefined) return;
    for (const metric of PER_DESTINATION) count(metric, { account, destination }, 0, false);
    for (const metric of FAILURES_PER_DESTINATION) {
      for (const reason of REASONS_WITHOUT_CODE) {
        count(metric, { account, destination, reason, code: NO_CODE }, 0, false);
      }
    }
  }

  function start(account: string, feed: TotalsFeed): void {
    unread.delete(account);
    const increments = feed.counters.map(({ value, ...row }) => ({ ...row, by: value }));
    add({ account, increments, histograms: feed.histograms }, true);
    createZeroes(account);
    feed.onAdded((added) => add(added, false));
  }

  async function readMissing(): Promise<void> {
    for (const account of unread) {
      try {
        const feed = await totals.follow(account);
        if (owned.disposed) feed[Symbol.dispose]();
        else start(account, owned.use(feed));
      } catch {
        families.fail('store');
      }
    }
  }

  async function refresh(): Promise<void> {
    return (reading ??= readMissing().finally(() => (reading = undefined)));
  }

  /** Creates the zeros of an account that was read. Without a reading, the totals are unknown and absent. */
  function createZeroes(account: string): void {
    if (account === OWN) {
      for (const metric of OWN_COUNTERS) count(metric, {}, 0, false);
      for (const reason of SPAN_DROPS) count('opsd_spans_dropped_total', { reason }, 0, false);
    } else if (deps.accounts.find(({ name }) => name === account)?.apis.includes('message') === true) {
      for (const state of MESSAGE_STATES) count('msgsvc_log_events_total', { account, state }, 0, false);
      for (const metric of READER_COUNTERS) count(metric, { account }, 0, false);
    }
  }

  for (const account of accounts) {
    const feed = stored.totals.get(account);
    if (feed === undefined) families.fail('store');
    else start(account, owned.use(feed));
  }
  return { refresh, [Symbol.dispose]: () => owned.dispose() };
}

/** Starts the counter of a reset total again at 0. Its value is known from then on. */
// oxlint-disable-next-line max-params -- the registry, its unknown series, and a row
function restart({ limiter, families }: MirrorDeps, unknown: Set<string>, account: string, row: Row): void {
  const labels = labelsOf(limiter, account, row, 'counter');
  if (labels === 'hidden' || labels === undefined) return;
  unknown.delete(keyOf(row.metric, labels));
  families.restart(row.metric as CounterName, labels);
}

/**
 * Returns the labels of a row, the same for the initial reading and for later commits. Undefined if the catalog does
 * not have the row. `hidden` if a label value has no place: under `other`, its old total would look like an increase.
 */
function labelsOf(
  limiter: LabelLimiter,
  account: string,
  { metric, labels }: Row,
  type: 'counter' | 'histogram',
): Labels | 'hidden' | undefined {
  if (!isMetricName(metric)) return undefined;
  const spec = specOf(metric);
  if (spec.mirrored !== true || spec.type !== type || labels.length !== spec.labels.length) return undefined;
  if (spec.account !== (account !== OWN)) return undefined;
  const limited: Labels = spec.account ? { account } : {};
  for (const [index, name] of spec.labels.entries()) {
    const value = labels[index]!;
    if (value === RETIRED) return 'hidden';
    const shown = limiter.keep(account, name, value);
    if (shown === undefined) return 'hidden';
    limited[name] = shown;
  }
  return limited;
}

function observations(
  { buckets, sum, exemplars = [] }: AddedHistogram,
  spanOf: (messageId: string) => SpanRef | undefined,
): HistogramCounts {
  const spans = exemplars.map((exemplar) => {
    const span = exemplar && spanOf(exemplar.messageId);
    return span && { ...span, value: exemplar.value, at: exemplar.at };
  });
  return { buckets, sum, exemplars: spans };
}

function keyOf(metric: string, labels: Labels): string {
  return JSON.stringify([metric, labels]);
}

/** Returns the counters that mirror totals and have exactly these labels in addition to the account. */
function mirroredCounters(labels: string): readonly CounterName[] {
  return METRIC_NAMES.filter((name): name is CounterName => {
    const spec = specOf(name satisfies MetricName);
    return spec.mirrored === true && spec.type === 'counter' && spec.account && spec.labels.join() === labels;
  });
}

function fits({ metric, buckets, sum }: AddedHistogram): boolean {
  const bounds = specOf(metric as HistogramName).buckets ?? [];
  const counts = buckets.length === bounds.length + 1 && buckets.every((count) => count >= 0 && Number.isFinite(count));
  return counts && sum >= 0 && Number.isFinite(sum);
}
