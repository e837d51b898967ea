/** The example for Alertmanager covers the existing alerts. test/system runs it with the real one. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CORE_FILE, EXTENDED_FILE } from '../../deploy/prometheus/render.ts';
import { collectors } from '#observe/collectors/index.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const yaml = (path: string): unknown => parse(readFileSync(join(DEPLOY, path), 'utf8'));

interface Inhibition {
  readonly source_matchers: readonly string[];
  readonly target_matchers: readonly string[];
  readonly equal?: readonly string[];
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly labels: Labels }[] }[];
}

type Labels = Readonly<Record<string, string>>;

interface Cases {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly {
      readonly alertname: string;
      readonly exp_alerts?: readonly { readonly exp_labels: Labels }[];
    }[];
  }[];
}

const inhibitions = (yaml('alertmanager/alertmanager.yaml') as { inhibit_rules: readonly Inhibition[] }).inhibit_rules;
const alerts = [CORE_FILE, EXTENDED_FILE].flatMap((file) =>
  (yaml(file.replace('deploy/', '')) as Rules).groups.flatMap(({ rules }) => rules),
);

/** Alerts that the daemon itself sends (docs/notifications.md). */
const CONDITION_ALERTS = ['OpsdHeld', 'OpsdHalted', 'OpsdApproval', 'OpsdPaused', 'OpsdUnknown', 'OpsdReload'];

/** Returns the values that matchers name for a label. */
function named(matchers: readonly string[], label: string): string[] {
  return matchers.flatMap((matcher) => {
    const [, name, , value] = /^(\w+)(=~|!=|=)"(.*)"$/.exec(matcher) ?? [];
    return name === label && value !== '.+' ? value!.split('|') : [];
  });
}

test('it names only existing alerts and areas', () => {
  const matchers = inhibitions.flatMap(({ source_matchers, target_matchers }) => [
    ...source_matchers,
    ...target_matchers,
  ]);
  expect(named(matchers, 'alertname').length).toBeGreaterThan(5);
  for (const [label, known] of [
    ['alertname', [...alerts.map(({ alert }) => alert), ...CONDITION_ALERTS]],
    ['area', alerts.map(({ labels }) => labels['area'])],
    ['severity', alerts.map(({ labels }) => labels['severity'])],
  ] as const)
    expect(named(matchers, label).filter((name) => !known.includes(name))).toEqual([]);
});

test('an unavailable API silences the collectors that read from it, all of them and no other', () => {
  for (const api of ['message', 'management']) {
    const silenced = inhibitions
      .filter(({ source_matchers }) => named(source_matchers, 'api').includes(api))
      .flatMap(({ target_matchers }) => named(target_matchers, 'collector'));
    const reading = Object.entries(collectors).flatMap(([name, collector]) => (collector.api === api ? [name] : []));
    expect(silenced.sort(), api).toEqual(reading.sort());
  }
});

test('a critical alert silences only alerts with equal identifying labels', () => {
  const severities = new Map<string, Set<string>>();
  for (const { alert, labels } of alerts)
    severities.set(alert, (severities.get(alert) ?? new Set()).add(labels['severity']!));
  const twice = [...severities].filter(([, found]) => found.has('critical') && found.size > 1).map(([alert]) => alert);
  expect(twice.length).toBeGreaterThan(0);

  const folder = join(DEPLOY, 'prometheus/tests');
  const cases = readdirSync(folder).flatMap((file) => (yaml(`prometheus/tests/${file}`) as Cases).tests);
  const labels = cases
    .flatMap(({ alert_rule_test }) => alert_rule_test ?? [])
    .filter(({ alertname }) => twice.includes(alertname))
    .flatMap(({ exp_alerts }) => (exp_alerts ?? []).flatMap(({ exp_labels }) => Object.keys(exp_labels)));
  const { equal } = inhibitions.find(({ source_matchers }) => source_matchers.includes('severity="critical"'))!;
  const apart = new Set(labels.filter((label) => label !== 'severity' && label !== 'area'));
  expect(apart.size).toBeGreaterThan(1);
  expect([...apart].filter((label) => !equal!.includes(label))).toEqual([]);
});
