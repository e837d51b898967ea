/**
 * Estimates the number of series of a configuration, by heading of the catalog. It returns the typical number, and the
 * maximum with every place of every label in use. `TYPICAL` has the assumptions.
 */
import type { CollectorName } from '#foundation/domain/observation.ts';
import { METRIC_NAMES, specOf, type MetricName } from '../catalog/catalog.ts';
import type { MetricSpec } from '../catalog/metric-spec.ts';
import type { MetricsSettings } from './settings.ts';

export interface SeriesFacts {
  readonly apis: number;
  readonly collectors: readonly CollectorName[];
  readonly flowControlKeys: number;
  /** Number of keys discovered in entries that are also watched. */
  readonly discoveredKeys: number;
  readonly searchIndexes: number;
  readonly vectorIndexes: number;
  readonly policies: number;
  readonly canaries: number;
  readonly hasDimension: boolean;
}

export interface SeriesEstimate {
  readonly heading: string;
  readonly typical: number;
  readonly atMost: number;
}

/** Assumed number of label values of an account. */
export const TYPICAL = { destinations: 10, workflows: 10, urlGroups: 20, values: 20, labels: 10 } as const;

/** Number of values of a label: typical and maximum. */
type Bound = readonly [typical: number, atMost: number];

/** Number of label values with a fixed meaning in the program. The numbers are generous and include `other`. */
const FIXED: Readonly<Record<string, Bound>> = {
  state: [8, 12],
  dimension: [1, 1],
  age: [5, 5],
  within: [2, 2],
  cause: [5, 6],
  origin: [3, 3],
  constraint: [2, 3],
  kind: [2, 2],
  scope: [2, 2],
  series: [6, 51],
  name: [1, 1],
  plan: [1, 1],
  index_region: [1, 1],
  operation: [7, 20],

  source: [16, 20],
  window: [2, 2],
  credential: [1, 3],
  listener: [1, 2],
  owner: [1, 1],
  of: [5, 20],
  mode: [1, 1],
  effective_mode: [1, 1],
  outcome: [8, 12],
  guard: [3, 40],
  action: [1, 5],
  trigger: [1, 2],
  hook: [2, 3],
  receiver: [1, 10],
  status: [2, 2],
  code_class: [3, 7],
  // A canary has one verdict at a time.
  verdict: [1, 1],
  phase: [5, 5],
  severity: [3, 3],
  level: [4, 6],
  version: [1, 1],
  revision: [1, 1],
  node_version: [1, 1],
  reason: [8, 18],
  code: [3, 101],
};

/** Bound for a label without a known bound. */
const UNKNOWN: Bound = [5, 51];

/** Returns true if bounds are known for the label. */
export function isBounded(label: string): boolean {
  return boundOf(label, undefined, undefined) !== UNKNOWN;
}

export function estimateSeries(accounts: readonly SeriesFacts[], settings: MetricsSettings): readonly SeriesEstimate[] {
  const estimates = new Map<string, { typical: number; atMost: number }>();
  // Scopes: the engine, its deletes and its spend, each account, and each policy.
  const scopes = 3 + accounts.length + accounts.reduce((sum, { policies }) => sum + policies, 0);
  for (const name of METRIC_NAMES) {
    const spec = specOf(name);
    if (spec.debug === true && !settings.debug) continue;
    const watching = spec.account ? accounts.filter((account) => isShown(name, spec, account, settings)) : [undefined];
    let ofHeading = estimates.get(spec.heading);
    if (ofHeading === undefined) estimates.set(spec.heading, (ofHeading = { typical: 0, atMost: 0 }));
    for (const account of watching) {
      const ofEngine = !spec.account && spec.labels.includes('scope');
      const each = spec.labels.includes('window') ? 2 : 1;
      const [typical, atMost] = ofEngine ? [scopes * each, scopes * each] : seriesOf(spec, account, settings);
      ofHeading.typical += typical;
      ofHeading.atMost += atMost;
    }
  }
  return [...estimates].map(([heading, counts]) => ({ heading, ...counts })).filter(({ atMost }) => atMost > 0);
}

function isShown(name: MetricName, spec: MetricSpec, account: SeriesFacts, settings: MetricsSettings): boolean {
  if (name === 'msgsvc_log_events_by_dimension_total') return account.hasDimension;
  if (name === 'msgsvc_workflow_dlq_labeled_runs') return settings.workflowDlqLabels;
  const collector = spec.collector ?? COUNTED_BY.find(([prefix]) => name.startsWith(prefix))?.[1];
  return collector === undefined || account.collectors.includes(collector);
}

/** Collector of each prefix of counters without a collector in the catalog: counters stay when it is stale. */
const COUNTED_BY = [
  ['msgsvc_log_', 'logs'],
  ['msgsvc_message', 'logs'],
  ['opsd_log_', 'logs'],
  ['opsd_messages_', 'logs'],
  ['msgsvc_workflow_', 'workflowDlq'],
  ['msgsvc_flow_control_', 'flowControl'],
  ['msgsvc_account_', 'accountStats'],
  ['opsd_stats_', 'accountStats'],
] as const;

function seriesOf(
  spec: MetricSpec,
  account: SeriesFacts | undefined,
  settings: MetricsSettings,
): readonly [number, number] {
  const each = spec.type === 'histogram' ? (spec.buckets ?? []).length + 3 : 1;
  let [typical, atMost] = [each, each];
  let labels = spec.labels;
  // A status code occurs with only one reason.
  if (labels.includes('reason') && labels.includes('code')) {
    labels = labels.filter((label) => label !== 'reason' && label !== 'code');
    typical *= FIXED['reason']![0] + FIXED['code']![0];
    atMost *= FIXED['reason']![1] + FIXED['code']![1];
  }
  for (const label of labels) {
    const [usual, most] =
      label === 'flow_control_key' && spec.heading === 'Flow control'
        ? watchedKeys(account)
        : label === 'index'
          ? indexes(spec, account)
          : boundOf(label, account, settings);
    typical *= usual;
    atMost *= most;
  }
  return [typical, atMost];
}

function watchedKeys(account: SeriesFacts | undefined): Bound {
  const { flowControlKeys = 1, discoveredKeys = 0 } = account ?? {};
  return [flowControlKeys + Math.min(5, discoveredKeys), flowControlKeys + discoveredKeys];
}

function indexes({ heading }: MetricSpec, account: SeriesFacts | undefined): Bound {
  const count = heading === 'Search indexes' ? account?.searchIndexes : account?.vectorIndexes;
  return [count ?? 1, count ?? 1];
}

function boundOf(label: string, account: SeriesFacts | undefined, settings: MetricsSettings | undefined): Bound {
  const capped = (typical: number, cap: keyof MetricsSettings['labels']): Bound => {
    const { max = 1, first = [] } = settings?.labels[cap] ?? {};
    const places = Math.max(max, first.length);
    return [Math.min(typical, places), places + 1];
  };
  switch (label) {
    case 'destination':
      return capped(TYPICAL.destinations, 'destination');
    case 'workflow':
    // Campaigns are by workflow.
    case 'group':
      return capped(TYPICAL.workflows, 'workflow');
    case 'url_group':
      return capped(TYPICAL.urlGroups, 'urlGroup');
    case 'value':
      return capped(TYPICAL.values, 'value');
    case 'flow_control_key': {
      const [typical, atMost] = capped(5 + (account?.flowControlKeys ?? 0), 'flowControlKey');
      return [typical, Math.max(atMost, (account?.flowControlKeys ?? 0) + 1)];
    }
    // Labels of runs in the DLQ; for one metric of the daemon, names of labels.
    case 'label':
      return account === undefined ? [20, 30] : [TYPICAL.labels, 101];
    case 'api':
      return [account?.apis ?? 2, account?.apis ?? 2];
    case 'collector':
      return [account?.collectors.length ?? 7, account?.collectors.length ?? 7];
    case 'policy':
      return [account?.policies ?? 1, account?.policies ?? 1];
    case 'canary':
      return [account?.canaries ?? 1, account?.canaries ?? 1];
    case 'index':
      return [1, 1];
    case 'family':
      return [METRIC_NAMES.length, METRIC_NAMES.length];
    default:
      return FIXED[label] ?? UNKNOWN;
  }
}
