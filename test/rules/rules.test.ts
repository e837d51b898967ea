/** The rules as data: rendered, complete, tested, and each alert with its runbook. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { DOCUMENT } from '../../deploy/prometheus/document.ts';
import { CASE_FILES, renderRules, withOrder } from '../../deploy/prometheus/render.ts';
import { BURN_WINDOWS, FAST_BURN, OBJECTIVES, PARTIAL_OUTAGE, SLOW_BURN } from '../../deploy/prometheus/thresholds.ts';
import { readPromql } from '../support/promql.ts';
import { labelsOfRules } from '../support/rule-labels.ts';

const ROOT = join(import.meta.dirname, '../..');
const RUNBOOK_FOLDER = join(ROOT, 'docs/runbooks');
const CASES = join(ROOT, 'deploy/prometheus/tests');

const alerts = ALERT_GROUPS.flatMap(({ rules }) => rules);
const names = [...new Set(alerts.map(({ alert }) => alert))];
const records = RECORDING_GROUPS.flatMap(({ rules }) => rules);

interface Case {
  readonly alertname: string;
  readonly exp_alerts?: readonly { readonly exp_labels: Readonly<Record<string, string>> }[];
}

const cases: readonly Case[] = readdirSync(CASES)
  .filter((file) => file.endsWith('.test.yaml'))
  .flatMap((file) => {
    const { tests } = parse(readFileSync(join(CASES, file), 'utf8')) as {
      tests: readonly { readonly alert_rule_test?: readonly Case[] }[];
    };
    return tests.flatMap(({ alert_rule_test = [] }) => alert_rule_test);
  });

test.each(Object.entries(renderRules()))('%s is rendered from the sources: npm run rules', (path, text) => {
  expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
});

test.each(CASE_FILES)('%s has the order of the groups: npm run rules', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  expect(text).toContain('group_eval_order');
  expect(withOrder(text)).toBe(text);
});

test('docs/alerts.md has the objectives and burn rates in use', () => {
  const document = readFileSync(join(ROOT, DOCUMENT), 'utf8');
  for (const objective of Object.values(OBJECTIVES)) expect(document).toContain(`${Math.round(objective * 100)} %`);
  for (const { factor, long } of PARTIAL_OUTAGE) {
    const share = Math.round(factor * (1 - OBJECTIVES.attempts) * 100);
    expect(document).toMatch(
      new RegExp(`${share} %\\s${long === '15m' ? 'of\\sthem\\sfail\\swithin\\s15\\sminutes' : 'within\\san\\shour'}`),
    );
  }
});

test('an alert about an account has its label, so only policies of that account are triggered', () => {
  const ofAccounts = alerts.flatMap((rule) => {
    const { selectors, labels } = readPromql(rule.expr, labelsOfRules);
    return selectors.some(({ metric }) => labelsOfRules(metric)?.includes('account'))
      ? [{ ...rule, names: labels }]
      : [];
  });
  expect(ofAccounts.length).toBeGreaterThan(10);
  expect(ofAccounts.filter(({ names: labels }) => !labels.has('account')).map(({ alert }) => alert)).toEqual([]);
});

describe('the example for Alertmanager', () => {
  const example = parse(readFileSync(join(ROOT, 'deploy/alertmanager/alertmanager.yaml'), 'utf8')) as {
    inhibit_rules: readonly {
      readonly source_matchers: readonly string[];
      readonly target_matchers: readonly string[];
      readonly equal?: readonly string[];
    }[];
  };

  test('lets a critical alert inhibit only its milder form with equal labels', () => {
    const worse = example.inhibit_rules.find(({ equal = [] }) => equal.includes('alertname'))!;
    const several = names.filter(
      (name) => new Set(alerts.filter(({ alert }) => alert === name).map(({ severity }) => severity)).size > 1,
    );
    expect(several.length).toBeGreaterThan(3);
    for (const name of several) {
      const labels = alerts
        .filter(({ alert }) => alert === name)
        .flatMap(({ expr }) => [...readPromql(expr, labelsOfRules).labels]);
      expect(worse.equal, name).toEqual(expect.arrayContaining(labels));
    }
  });

  test('names existing alerts', () => {
    const matchers = example.inhibit_rules.flatMap(({ source_matchers: of, target_matchers: to }) => [...of, ...to]);
    const named = matchers.flatMap((matcher) => /^alertname!?=~?"(.*)"$/.exec(matcher)?.[1]!.split('|') ?? []);
    expect(named.length).toBeGreaterThan(3);
    const conditions = ['OpsdHeld', 'OpsdHalted', 'OpsdApproval', 'OpsdPaused', 'OpsdUnknown', 'OpsdReload'];
    expect(named.filter((name) => !names.includes(name) && !conditions.includes(name))).toEqual([]);
  });
});

/** Typical values of labels. */
const SAMPLE: Readonly<Record<string, string>> = {
  account: 'shop',
  destination: 'crm.vendor.example',
  workflow: 'invoice',
  policy: 'resume-billing',
  instance: '10.42.13.7:10777',
  collector: 'workflowDlq',
  flow_control_key: 'billing',
  operation: 'list-workflow-dlq',
  guard: 'destination_down',
  group: 'app.shop.example',
  index: 'products',
  quota: 'month_bandwidth',
  api: 'management',
  source: 'statistics',
  state: 'DELIVERED',
  scope: 'policy/resume-billing',
  listener: 'server',
  canary: 'flow-control-billing',
  verdict: 'service_reporting',
  receiver: 'alertmanager',
  job: 'opsd',
};
const VALUES = {
  humanizePercentage: '18.33%',
  humanizeDuration: '1h 12m 5s',
  humanize: '240',
  humanize1024: '430.1Mi',
};

/**
 * Renders a summary as Prometheus does.
 *
 * @throws on an unknown template
 */
function rendered(summary: string): string {
  const label = (name: string): string => {
    if (SAMPLE[name] === undefined) throw new Error(`no sample of label ${name}`);
    return SAMPLE[name];
  };
  const text = summary
    .replaceAll(/\{\{ with printf .*?\{\{ end \}\}/g, '0.95')
    .replaceAll(/\{\{ with \$labels\.(\w+) \}\}(.*?)\{\{ end \}\}/g, (_all, name: string, body: string) =>
      body.replace('{{ . }}', label(name)),
    )
    .replaceAll(/\{\{ or \$labels\.(\w+) .*? \}\}/g, (_all, name: string) => label(name))
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => label(name))
    .replaceAll(/\{\{ \$value \| (\w+) \}\}/g, (_all, name: string) => VALUES[name as keyof typeof VALUES])
    .replaceAll(/\{\{ \$value \| printf "[^"]*" \}\}/g, '182.40');
  if (/\{\{|undefined/.test(text)) throw new Error(`not rendered: ${text}`);
  return text;
}

/** States without a number. */
const STATES = [
  'MsgsvcApiUnavailable',
  'MsgsvcCanaryFailing',
  'OpsdAbsent',
  'OpsdAccountUnowned',
  'OpsdCollectorStale',
  'OpsdCountsDisagree',
  'OpsdDown',
  'OpsdEnginePaused',
  'OpsdGroupHalted',
  'OpsdHeartbeat',
  'OpsdNotLeader',
  'OpsdPausedLong',
  'OpsdReloadFailed',
  'OpsdSpansFailing',
  'OpsdStoreFailing',
  'OpsdStoreUnreachable',
];

describe('the default set of teams', () => {
  const core = alerts.filter(({ extended }) => extended !== true);
  const pages = alerts.filter(({ severity }) => severity === 'critical');

  test('the core has about 30 rules', () => {
    expect(core.length).toBeGreaterThan(25);
    expect(core.length).toBeLessThan(38);
  });

  test('pages are in the core, and there is one for each of eleven causes', () => {
    expect(pages.filter(({ extended }) => extended === true)).toEqual([]);
    const causes = {
      'destination down': ['MsgsvcDestinationDown'],
      'objective burning': ['MsgsvcDeliveryBudgetBurn', 'MsgsvcDestinationBudgetBurn'],
      'message overdue': ['MsgsvcMessageOverdue'],
      'DLQ nearly full': ['MsgsvcDlqNearFull'],
      'budget or daily limit reached': ['MsgsvcBudgetNear', 'MsgsvcRequestsNearDailyLimit'],
      'API unavailable': ['MsgsvcApiUnavailable'],
      'log unread': ['OpsdLogUnread'],
      'daemon down': ['OpsdDown', 'OpsdAbsent'],
      'audit log not written': ['OpsdAuditNotWritten'],
      'store unreachable': ['OpsdStoreUnreachable'],
      'account without an owner': ['OpsdAccountUnowned'],
    };
    expect(pages.map(({ alert }) => alert).toSorted()).toEqual(Object.values(causes).flat().toSorted());
  });

  test('no severity reaches no one', () => {
    expect(new Set(alerts.map(({ severity }) => severity))).toEqual(new Set(['critical', 'warning', 'none']));
    expect(alerts.filter(({ severity }) => severity === 'none').map(({ alert }) => alert)).toEqual(['OpsdHeartbeat']);
  });
});

test('names of groups are unique, and so is a recorded name with its labels', () => {
  const groups = [...RECORDING_GROUPS, ...ALERT_GROUPS].map(({ name }) => name);
  expect(new Set(groups).size).toBe(groups.length);
  const series = records.map(({ record, labels }) => `${record} ${JSON.stringify(labels ?? {})}`);
  expect(new Set(series).size).toBe(series.length);
});

test('recorded names are level:metric:operation', () => {
  expect(records.map(({ record }) => record).filter((name) => !/^[a-z_]+:[a-z_]+:[a-z0-9_]+$/.test(name))).toEqual([]);
});

describe.each(alerts.map((rule) => [`${rule.alert}, ${rule.severity}`, rule] as const))('%s', (_name, rule) => {
  const of = cases.filter(({ alertname }) => alertname === rule.alert);
  const fires = ({ exp_alerts = [] }: Case): boolean =>
    exp_alerts.some(({ exp_labels }) => exp_labels['severity'] === rule.severity);

  test('has a summary of at most 80 characters with its number and limit, and a description in sentences', () => {
    expect(rule.alert).toMatch(/^(?:Msgsvc|Opsd)[A-Z][A-Za-z]+$/);
    expect(rendered(rule.summary).length, rendered(rule.summary)).toBeLessThanOrEqual(80);
    if (!STATES.includes(rule.alert)) expect(rule.summary).toContain('{{ $value');
    if (!STATES.includes(rule.alert)) expect(rule.summary).toMatch(/\(limit .*\d.*\)$|yesterday$/);
    expect(rule.description).toMatch(/^\S.{19,}\.$/s);
  });

  test('has a case in which it fires and one in which it is silent', () => {
    expect(of.filter(fires).length, 'firing').toBeGreaterThan(0);
    if (rule.alert === 'OpsdHeartbeat') return;
    expect(of.filter((one) => !fires(one)).length, 'silent').toBeGreaterThan(0);
  });

  test('shares its name with no other rule of its severity', () => {
    expect(alerts.filter(({ alert, severity }) => alert === rule.alert && severity === rule.severity)).toEqual([rule]);
  });
});

describe('runbooks', () => {
  test('there is one for each alert, and no other', () => {
    expect(readdirSync(RUNBOOK_FOLDER).sort()).toEqual(names.map((name) => `${name}.md`).sort());
  });

  test.each(names)('%s has its four parts, none of them empty', (name) => {
    const text = readFileSync(join(RUNBOOK_FOLDER, `${name}.md`), 'utf8');
    const [title, ...parts] = text.split(/^## /m);
    expect(title!.trim()).toBe(`# ${name}`);
    expect(parts.map((part) => part.split('\n')[0])).toEqual(['Meaning', 'Impact', 'Diagnosis', 'Mitigation']);
    for (const part of parts) expect(part.split('\n').slice(1).join('').trim().length, part).toBeGreaterThan(40);
  });
});

describe('burn rates', () => {
  const rates = [...FAST_BURN, ...SLOW_BURN, ...PARTIAL_OUTAGE];
  const minutes = (duration: string): number => {
    const [, number, unit] = /^(\d+)([mhd])$/.exec(duration)!;
    return Number(number) * { m: 1, h: 60, d: 1_440 }[unit as 'm' | 'h' | 'd'];
  };

  test.each([
    ['messages', OBJECTIVES.delivered, [...FAST_BURN, ...SLOW_BURN]],
    ['attempts', OBJECTIVES.attempts, PARTIAL_OUTAGE],
  ] as const)('of %s can be reached: a ratio is at most 1', (_what, objective, used) => {
    for (const { factor } of used) expect(factor * (1 - objective)).toBeLessThan(1);
  });

  test('use the recorded windows, all of them', () => {
    const used = new Set(rates.flatMap(({ long, short }) => [long, short]));
    expect(used).toEqual(new Set(BURN_WINDOWS));
  });

  test.each(rates)('over $long need a history of half of it', ({ long, known }) => {
    expect(minutes(known)).toBeGreaterThanOrEqual(minutes(long) / 2);
  });

  test.each([FAST_BURN, SLOW_BURN, PARTIAL_OUTAGE])('need more failures over a longer window', (...group) => {
    const inOrder = group.toSorted((one, other) => minutes(one.long) - minutes(other.long));
    const numbers = inOrder.map(({ least }) => least);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  });
});
