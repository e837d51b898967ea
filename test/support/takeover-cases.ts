/** Cases of rules with takeovers: the series of an account end at one replica and continue at another. */
import { parse, stringify } from 'yaml';

interface Series {
  readonly series: string;
  readonly values: string;
}

interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts?: readonly { readonly exp_labels: Readonly<Record<string, string>> }[];
}

export interface RuleCase {
  readonly name: string;
  readonly input_series: readonly Series[];
  readonly alert_rule_test?: readonly AlertTest[];
  readonly promql_expr_test?: readonly { readonly expr: string }[];
}

interface Takeover {
  /** Returns which of the two replicas is the owner, after a share of the time. */
  readonly ownerAt: (share: number) => 0 | 1;
  /** What a replica exposes that is no longer the owner: its last commit, no series of the account, or nothing. */
  readonly after: 'last commit' | 'no series' | 'nothing';
}

const TAKEOVERS: readonly Takeover[] = [
  { ownerAt: (share) => (share < 0.5 ? 0 : 1), after: 'last commit' },
  { ownerAt: (share) => (share < 0.5 ? 0 : 1), after: 'nothing' },
  { ownerAt: (share) => (share < 1 / 3 || share >= 2 / 3 ? 0 : 1), after: 'no series' },
];

/** Returns the text of a file of cases, with the cases of `takeoversOf` instead of its own. */
export function takeoversIn(text: string): string {
  const file = parse(text, { schema: 'failsafe' }) as { readonly tests: readonly RuleCase[] };
  return stringify({ ...file, tests: file.tests.flatMap(takeoversOf) }, { aliasDuplicateObjects: false });
}

/** Alerts on what one process does: a takeover begins it anew, so they fire later. */
const OF_PROCESS = ['OpsdCollectorFailing', 'OpsdPolicyFailing'];

/**
 * Returns the case with two replicas, once for each kind of takeover. The same alerts are expected at the same times. Their
 * texts are not, because estimates of rates differ. A case with replicas or recorded series of its own has none.
 */
export function takeoversOf(one: RuleCase): readonly RuleCase[] {
  const accounts = new Map<string, Set<string>>();
  for (const { series } of one.input_series) {
    const account = labelOf(series, 'account');
    if (account === undefined) continue;
    accounts.set(account, (accounts.get(account) ?? new Set()).add(processOf(series).join()));
  }
  const tests = (one.alert_rule_test ?? []).filter(
    ({ alertname, exp_alerts: fired = [] }) =>
      !OF_PROCESS.includes(alertname) &&
      fired.every(({ exp_labels: labels }) => 'account' in labels && !('instance' in labels)),
  );
  const isFixed = one.input_series.some(({ series }) => /^(opsd_lease|[a-z_]+:)/.test(series));
  if (isFixed || tests.length === 0 || accounts.size === 0) return [];
  if ([...accounts.values()].some(({ size }) => size > 1)) return [];
  return TAKEOVERS.map((takeover) => ({
    ...one,
    name: `${one.name} (the owner before exposes ${takeover.after})`,
    input_series: withTakeover(one.input_series, takeover),
    promql_expr_test: [],
    alert_rule_test: tests.map((test) => ({
      ...test,
      exp_alerts: (test.exp_alerts ?? []).map(({ exp_labels }) => ({ exp_labels })),
    })),
  }));
}

function withTakeover(all: readonly Series[], { ownerAt, after }: Takeover): readonly Series[] {
  const expanded = all.map(({ series, values }) => ({ series, values: samplesOf(values) }));
  const length = Math.max(...expanded.map(({ values }) => values.length));
  const owners = Array.from({ length }, (_, index) => ownerAt(index / length));
  const epochs = owners.map(
    (_, index) => 1 + owners.slice(1, index + 1).filter((owner, at) => owner !== owners[at]).length,
  );
  const result = new Map<string, string>();
  for (const { series, values } of expanded) {
    const account = labelOf(series, 'account');
    const [job, instance] = processOf(series);
    for (const [replica, name] of [instance, `${instance}-other`].entries()) {
      const own = withLabel(series, 'instance', name);
      if (account === undefined) {
        // A series of the process: both have it, unless the case has no instances.
        result.set(instance === '' ? series : own, values.join(' '));
        continue;
      }
      let last = '_';
      const samples = owners.map((owner, index) => {
        if (owner === replica) return (last = values[index] ?? '_');
        if (after === 'last commit') return last;
        return owners[index - 1] === replica ? 'stale' : '_';
      });
      result.set(own, samples.join(' '));
      const lease = owners.map((owner, index) => {
        if (owner === replica) return '1';
        return after === 'nothing' && replica === owners[0] && index > 0 ? 'stale' : '0';
      });
      const labels = `account="${account}"${job === '' ? '' : `, job="${job}"`}, instance="${name}"`;
      result.set(`opsd_lease_owner{${labels}}`, lease.join(' '));
      result.set(`opsd_lease_epoch{${labels}}`, epochs.join(' '));
    }
  }
  return [...result].map(([series, values]) => ({ series, values }));
}

/** Returns the samples of promtool's notation. `1+2x3` is 1 3 5 7, and `_x3` three steps without a sample. */
function samplesOf(values: string): readonly string[] {
  return values.split(/\s+/).flatMap((part) => {
    const [, start, step = '0', times] = /^(_|-?[\w.]+?)([+-][\d.e]+)?(?:x(\d+))?$/.exec(part) ?? [];
    if (start === undefined) throw new Error(`${part}: unknown notation`);
    if (times === undefined) return [start];
    if (start === '_') return Array<string>(Number(times)).fill('_');
    return Array.from({ length: Number(times) + 1 }, (_, index) =>
      start === 'Inf' ? start : String(Number(start) + index * Number(step)),
    );
  });
}

function labelOf(series: string, label: string): string | undefined {
  return new RegExp(`[{ ,]${label}="([^"]*)"`).exec(series)?.[1];
}

function processOf(series: string): readonly [job: string, instance: string] {
  return [labelOf(series, 'job') ?? '', labelOf(series, 'instance') ?? ''];
}

function withLabel(series: string, label: string, value: string): string {
  const without = series.replace(new RegExp(`[ ,]*${label}="[^"]*"`), '').replace(/\{\s*,\s*/, '{');
  return without.includes('{') ? without.replace('}', `, ${label}="${value}"}`) : `${without}{${label}="${value}"}`;
}
