/**
 * Writes the rules as files for Prometheus and as a PrometheusRule, and their order into the files of cases:
 * `npm run rules`. With `--out FOLDER` the rules go into that folder and not into the project.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { ALERT_GROUPS, RECORDING_GROUPS } from './groups.ts';
import type { AlertGroup, AlertingRule, RecordingGroup } from './rule.ts';
import { GRAFANA, RUNBOOKS } from './thresholds.ts';

export const RECORDING_FILE = 'deploy/prometheus/opsd-recording.yaml';
export const CORE_FILE = 'deploy/prometheus/opsd-alerts-core.yaml';
export const EXTENDED_FILE = 'deploy/prometheus/opsd-alerts-extended.yaml';
/** Files that Prometheus loads. */
export const RULE_FILES = [RECORDING_FILE, CORE_FILE, EXTENDED_FILE] as const;
export const PROMETHEUS_RULE_FILE = 'deploy/kubernetes/components/prometheus-rule/prometheus-rule.yaml';

interface RenderOptions {
  readonly recording?: readonly RecordingGroup[];
  readonly alerts?: readonly AlertGroup[];
}

/** Returns the texts of the files by their paths in the project. */
export function renderRules(options: RenderOptions = {}): Readonly<Record<string, string>> {
  const { recording = RECORDING_GROUPS, alerts = ALERT_GROUPS } = options;
  const recordingGroups = recording.map(({ rules, ...head }) => ({ ...head, rules }));
  const core = alertGroups(alerts, (rule) => rule.extended !== true);
  const extended = alertGroups(alerts, (rule) => rule.extended === true).map((group) => ({
    ...group,
    name: extendedName(group.name),
  }));
  return {
    [RECORDING_FILE]: yaml({ groups: recordingGroups }),
    [CORE_FILE]: yaml({ groups: core }),
    [EXTENDED_FILE]: yaml({ groups: extended }),
    [PROMETHEUS_RULE_FILE]: yaml({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'msgsvc-opsd' },
      spec: { groups: [...recordingGroups, ...core, ...extended] },
    }),
  };
}

/** Folder with the cases of `promtool test rules`. */
const CASES_FOLDER = 'deploy/prometheus/tests';

/** Paths of the files of cases. */
export const CASE_FILES: readonly string[] = readdirSync(join(import.meta.dirname, 'tests')).map((file) =>
  join(CASES_FOLDER, file),
);

/**
 * Returns a file of cases with the order of the groups. Without it promtool takes any order at each step, and an alert
 * reads series that are recorded only afterwards.
 */
export function withOrder(cases: string): string {
  const groups = RULE_FILES.flatMap((path) => renderRules()[path]!.match(/(?<=^  - name: ).*/gm)!);
  const line = `group_eval_order: [ ${groups.join(', ')} ]\n`;
  return cases.replace(/^(?:group_eval_order:.*\n)?(?=tests:$)/m, line);
}

/** Name of the group that holds the extended rules of a group. */
export const extendedName = (group: string): string => `${group}-extended`;

function alertGroups(groups: readonly AlertGroup[], takes: (rule: AlertingRule) => boolean) {
  return groups
    .map(({ rules, ...head }) => ({ ...head, rules: rules.filter(takes).map(alertRule) }))
    .filter(({ rules }) => rules.length > 0);
}

function alertRule(rule: AlertingRule) {
  const { alert, expr, severity, area, summary, description } = rule;
  return {
    alert,
    expr,
    ...(rule.for === undefined ? {} : { for: rule.for }),
    ...(rule.keepFiringFor === undefined ? {} : { keep_firing_for: rule.keepFiringFor }),
    labels: { severity, area },
    annotations: {
      summary,
      description,
      runbook_url: `${RUNBOOKS}${alert}.md`,
      dashboard_url: `${GRAFANA}d/${DASHBOARDS[area]}${variables(area)}`,
    },
  };
}

/** Dashboard of each area. */
export const DASHBOARDS: Readonly<Record<AlertingRule['area'], string>> = {
  deliveries: 'opsd-deliveries',
  dlq: 'opsd-dlq',
  workflows: 'opsd-workflows',
  'flow-control': 'opsd-flow-control',
  spend: 'opsd-spend',
  search: 'opsd-search',
  api: 'opsd-daemon',
  canary: 'opsd-overview',
  collectors: 'opsd-daemon',
  automation: 'opsd-policies',
  daemon: 'opsd-daemon',
};

/** Returns variables of the dashboard for the labels that the alert has. */
function variables(area: AlertingRule['area']): string {
  const names =
    area === 'deliveries' ? ['account', 'destination'] : area === 'daemon' ? ['account', 'instance'] : ['account'];
  const given = names.map((name) => `{{ with $labels.${name} }}&var-${name}={{ . | urlquery }}{{ end }}`);
  return `?from=now-3h${given.join('')}`;
}

function yaml(document: object): string {
  const header = '# Rendered from deploy/prometheus/rules by `npm run rules`: change it there.\n';
  return header + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

function main({ out }: { readonly out?: string | undefined }): void {
  const root = out ?? join(import.meta.dirname, '../..');
  for (const [path, text] of Object.entries(renderRules())) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (out !== undefined) return;
  for (const path of CASE_FILES.map((file) => join(root, file))) {
    writeFileSync(path, withOrder(readFileSync(path, 'utf8')));
  }
}

if (import.meta.main) {
  main(parseArgs({ options: { out: { type: 'string' } } }).values);
}
