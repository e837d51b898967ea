/**
 * Writes the rules as files for Prometheus and as a PrometheusRule, and their tables in the documentation:
 * `npm run rules`. With `--runbooks URL` the alerts point to runbooks there; with `--out FOLDER` the rules go into that
 * folder and not into the project.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { DOCUMENT, withTables } from './document.ts';
import { ALERT_GROUPS, RECORDING_GROUPS } from './groups.ts';
import type { AlertGroup, AlertingRule, RecordingGroup } from './rule.ts';
import { RUNBOOKS } from './thresholds.ts';

export const RECORDING_FILE = 'deploy/prometheus/opsd-recording.yaml';
export const ALERTS_FILE = 'deploy/prometheus/opsd-alerts.yaml';
export const PROMETHEUS_RULE_FILE = 'deploy/kubernetes/components/prometheus-rule/prometheus-rule.yaml';

export interface RenderOptions {
  readonly recording?: readonly RecordingGroup[];
  readonly alerts?: readonly AlertGroup[];
  readonly runbooks?: string;
}

/** The files' texts by their paths in the project. */
export function renderRules(options: RenderOptions = {}): Readonly<Record<string, string>> {
  const { runbooks = RUNBOOKS, recording = RECORDING_GROUPS, alerts = ALERT_GROUPS } = options;
  const base = runbooks.endsWith('/') ? runbooks : `${runbooks}/`;
  const recordingGroups = recording.map(({ rules, ...head }) => ({ ...head, rules }));
  const alertGroups = alerts.map(({ rules, ...head }) => ({
    ...head,
    rules: rules.map((rule) => alertRule(rule, base)),
  }));
  return {
    [RECORDING_FILE]: yaml({ groups: recordingGroups }),
    [ALERTS_FILE]: yaml({ groups: alertGroups }),
    [PROMETHEUS_RULE_FILE]: yaml({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'msgsvc-opsd' },
      spec: { groups: [...recordingGroups, ...alertGroups] },
    }),
  };
}

function alertRule(rule: AlertingRule, base: string) {
  const { alert, expr, severity, area, summary, description } = rule;
  return {
    alert,
    expr,
    ...(rule.for === undefined ? {} : { for: rule.for }),
    ...(rule.keepFiringFor === undefined ? {} : { keep_firing_for: rule.keepFiringFor }),
    labels: { severity, area },
    annotations: { summary, description, runbook_url: `${base}${alert}.md` },
  };
}

function yaml(document: object): string {
  const header = '# Rendered from deploy/prometheus/rules by `npm run rules`: change it there.\n';
  return header + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

function main({ runbooks, out }: { readonly runbooks?: string | undefined; readonly out?: string | undefined }): void {
  if (runbooks !== undefined && !/^https?:$/.test(URL.parse(runbooks)?.protocol ?? '')) {
    process.stderr.write(`--runbooks ${runbooks}: expected an address such as ${RUNBOOKS}\n`);
    process.exitCode = 64;
    return;
  }
  const root = out ?? join(import.meta.dirname, '../..');
  for (const [path, text] of Object.entries(renderRules(runbooks === undefined ? {} : { runbooks }))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (out !== undefined) return;
  const document = join(root, DOCUMENT);
  const rules = { recording: RECORDING_GROUPS, alerts: ALERT_GROUPS };
  writeFileSync(document, withTables(readFileSync(document, 'utf8'), rules));
}

if (import.meta.main) {
  main(parseArgs({ options: { runbooks: { type: 'string' }, out: { type: 'string' } } }).values);
}
