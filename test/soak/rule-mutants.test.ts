/**
 * Checks the completeness of the rules' cases: each rule runs without one part (a clause, a comparison, a wait), and a
 * case must fail. Cases with takeovers are derived from the others.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { extendedName, renderRules, RULE_FILES } from '../../deploy/prometheus/render.ts';
import type { AlertingRule, RecordingRule } from '../../deploy/prometheus/rule.ts';
import { installed, start } from '../support/program.ts';
import { rulesFor, withoutTexts } from '../support/rule-cases.ts';
import { expressionMutants, mutantsOf, TEMPLATE_MUTANTS, withoutTemplatePart } from '../support/rule-mutants.ts';
import { takeoversOf, type RuleCase } from '../support/takeover-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

const CASES = join(import.meta.dirname, '../../deploy/prometheus/tests');
const ALERTS = ALERT_GROUPS.flatMap(({ rules }) => rules);
const RECORDINGS = RECORDING_GROUPS.flatMap(({ rules }) => rules);

interface CaseFile {
  readonly tests: readonly RuleCase[];
}

/** All values are texts: 0x60 is sixty samples of 0 here, not a number. */
const files = readdirSync(CASES).map(
  (file) => parse(readFileSync(join(CASES, file), 'utf8'), { schema: 'failsafe' }) as CaseFile,
);
const takeovers = files.map((file) => ({ ...file, tests: file.tests.flatMap(takeoversOf) }));

/** Replacements of rules by mutants. */
type Mutation = ReadonlyMap<AlertingRule | RecordingRule, AlertingRule | RecordingRule>;

interface Checked {
  /** Alerts and recorded series whose cases run. */
  readonly alerts: readonly AlertingRule[];
  readonly recorded?: readonly RecordingRule[];
}

/**
 * Runs promtool on rules, those that they read, and the cases that name them; those with takeovers only if these pass.
 *
 * @returns the output of promtool
 */
async function tried(program: string, checked: Checked, mutation: Mutation = new Map()): Promise<string> {
  const output = await triedWith(files, program, checked, mutation);
  return output.includes('FAILED') ? output : output + (await triedWith(takeovers, program, checked, mutation));
}

async function triedWith(
  all: readonly CaseFile[],
  program: string,
  { alerts, recorded = [] }: Checked,
  mutation: Mutation,
): Promise<string> {
  const folder = tempDir();
  const isBare = all === takeovers;
  const needed = rulesFor([...alerts.map(({ expr }) => expr), ...recorded.map(({ record }) => record)], RECORDINGS);
  const mutated = <R extends AlertingRule | RecordingRule>(rule: R): R => (mutation.get(rule) ?? rule) as R;
  const rendered = renderRules({
    recording: RECORDING_GROUPS.map((group) => ({
      ...group,
      rules: group.rules.filter((rule) => needed.has(rule)).map(mutated),
    })).filter(({ rules }) => rules.length > 0),
    alerts: [{ name: 'tried', rules: alerts.map(mutated) }],
  });
  for (const [path, text] of Object.entries(rendered)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(
      join(folder, path),
      isBare && RULE_FILES.includes(path as never) ? stringify(withoutTexts(parse(text) as Rules)) : text,
    );
  }
  const order = [...RECORDING_GROUPS.map(({ name }) => name), 'tried', extendedName('tried')].filter((name) =>
    RULE_FILES.some((path) => rendered[path]!.includes(`name: ${name}\n`)),
  );
  const paths = all.flatMap((file, index) => {
    const tests = file.tests
      .map((one) => ({
        ...one,
        promql_expr_test: (one.promql_expr_test ?? []).filter(({ expr }) => isAbout(expr, recorded)),
        alert_rule_test: (one.alert_rule_test ?? []).filter(({ alertname }) =>
          alerts.some(({ alert }) => alert === alertname),
        ),
      }))
      .filter((one) => one.alert_rule_test.length + one.promql_expr_test.length > 0);
    if (tests.length === 0) return [];
    const path = join(folder, `${index}.test.yaml`);
    writeFileSync(path, stringify({ ...file, rule_files: RULE_FILES, group_eval_order: order, tests }));
    return [path];
  });
  if (paths.length === 0) return '';
  const ran = start(program, ['test', 'rules', ...paths], { env: { GOGC: '400' } });
  await ran.ended;
  return ran.stdout() + ran.stderr();
}

type Rules = Parameters<typeof withoutTexts>[0];

function isAbout(expr: string, recorded: readonly RecordingRule[]): boolean {
  const read = rulesFor([expr], RECORDINGS);
  return recorded.some((rule) => read.has(rule));
}

describe.each([...new Set(ALERTS.map(({ alert }) => alert))])('%s', (name) => {
  const alerts = ALERTS.filter(({ alert }) => alert === name);
  const program = installed('promtool');

  test('its cases hold', { timeout: 300_000 }, async ({ skip }) => {
    if (program === undefined) skip('promtool is not installed');
    expect((await tried(program!, { alerts })).split('FAILED:').slice(1)).toEqual([]);
  });

  test.for(
    alerts.flatMap((rule) =>
      mutantsOf(rule).map(({ what, rule: mutant }) => ({ what: `${rule.severity}: ${what}`, rule, mutant })),
    ),
  )('a case notices: without $what', { timeout: 300_000 }, async ({ rule, mutant }, { skip }) => {
    if (program === undefined) skip('promtool is not installed');
    const output = await tried(program!, { alerts }, new Map([[rule, mutant]]));
    expect(output).toContain('FAILED');
    expect(output).not.toContain('parse error');
  });
});

/** Recording rules of one template: they differ in metrics, labels, and windows. A mutant of the template changes all. */
const templates = Map.groupBy(RECORDINGS, ({ expr }) =>
  expr
    .replaceAll(/by \([^)]*\)/g, 'by (LABELS)')
    .replaceAll(/[a-z_:]*(?:msgsvc|opsd)_[\w:]*/g, 'METRIC')
    .replaceAll(/\[\w+\]/g, '[WINDOW]'),
);

/** A sum has no part that can be left out. */
const mutable = [...templates.values()].filter((rules) => expressionMutants(rules[0]!.expr).length > 0);

describe.each(mutable.map((rules) => ({ rules })))('recording rules such as $rules.0.record', ({ rules }) => {
  const program = installed('promtool');
  const alerts = ALERTS.filter(({ expr }) => rules.some((rule) => rulesFor([expr], RECORDINGS).has(rule)));

  test.for(expressionMutants(rules[0]!.expr).map(({ what }, index) => ({ what, index })))(
    'a case notices: without $what',
    { timeout: 600_000 },
    async ({ index }, { skip }) => {
      if (program === undefined) skip('promtool is not installed');
      const mutation = rules.map(
        (rule) => [rule, { ...rule, expr: expressionMutants(rule.expr)[index]!.expr }] as const,
      );
      const output = await tried(program!, { alerts, recorded: rules }, new Map(mutation));
      expect(output).toContain('FAILED');
      expect(output).not.toContain('parse error');
    },
  );
});

describe('templates of expressions', () => {
  const program = installed('promtool');
  const alerts = ALERTS.filter(({ area }) => ['dlq', 'spend', 'search', 'canary'].includes(area));

  test.for(TEMPLATE_MUTANTS)('a case notices: without %s', { timeout: 600_000 }, async (part, { skip }) => {
    if (program === undefined) skip('promtool is not installed');
    const all: readonly (AlertingRule | RecordingRule)[] = [...ALERTS, ...RECORDINGS];
    const mutation = all.map((rule) => [rule, { ...rule, expr: withoutTemplatePart(rule.expr, part) }] as const);
    expect(mutation.filter(([rule, { expr }]) => rule.expr !== expr).length).toBeGreaterThan(5);
    const output = await tried(program!, { alerts, recorded: RECORDINGS }, new Map(mutation));
    expect(output).toContain('FAILED');
    expect(output).not.toContain('parse error');
  });
});
