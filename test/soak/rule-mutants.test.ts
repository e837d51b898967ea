/**
 * Checks the completeness of the rules' cases: each alert runs without one part (a clause, a comparison, a wait), and a
 * case must fail.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { extendedName, renderRules, RULE_FILES } from '../../deploy/prometheus/render.ts';
import type { AlertingRule } from '../../deploy/prometheus/rule.ts';
import { installed, start } from '../support/program.ts';
import { mutantsOf } from '../support/rule-mutants.ts';
import { tempDir } from '../support/temp-dir.ts';

const CASES = join(import.meta.dirname, '../../deploy/prometheus/tests');

interface CaseFile {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly { readonly alertname: string }[];
  }[];
}

/** All values are texts: 0x60 is sixty samples of 0 here, not a number. */
const files = readdirSync(CASES).map(
  (file) => parse(readFileSync(join(CASES, file), 'utf8'), { schema: 'failsafe' }) as CaseFile,
);

/**
 * Runs promtool on the alert alone, with its recorded rules and the cases that name it.
 *
 * @returns the output of promtool
 */
async function tried(program: string, rules: readonly AlertingRule[]): Promise<string> {
  const folder = tempDir();
  const { alert } = rules[0]!;
  const used = rules.map(({ expr }) => expr).join(' ');
  const rendered = renderRules({
    recording: RECORDING_GROUPS.map((group) => ({
      ...group,
      rules: group.rules.filter(({ record }) => new RegExp(`${record}(?![a-z0-9_])`).test(used)),
    })).filter((group) => group.rules.length > 0),
    alerts: [{ name: 'tried', rules }],
  });
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(rendered)) write(path, text);
  const paths = files.flatMap((file, index) => {
    const tests = file.tests
      .map((one) => ({
        ...one,
        promql_expr_test: [],
        alert_rule_test: (one.alert_rule_test ?? []).filter(({ alertname }) => alertname === alert),
      }))
      .filter((one) => one.alert_rule_test.length > 0);
    if (tests.length === 0) return [];
    const order = [...RECORDING_GROUPS.map(({ name }) => name), 'tried', extendedName('tried')].filter((name) =>
      stringify(rendered).includes(name),
    );
    const path = `${index}.test.yaml`;
    write(path, stringify({ ...file, rule_files: RULE_FILES, group_eval_order: order, tests }));
    return [join(folder, path)];
  });
  const ran = start(program, ['test', 'rules', ...paths]);
  await ran.ended;
  return ran.stdout() + ran.stderr();
}

const alerts = ALERT_GROUPS.flatMap(({ rules }) => rules);

describe.each([...new Set(alerts.map(({ alert }) => alert))])('%s', (name) => {
  const rules = alerts.filter(({ alert }) => alert === name);
  const program = installed('promtool');

  test('its cases hold', { timeout: 120_000 }, async ({ skip }) => {
    if (program === undefined) skip('promtool is not installed');
    expect(await tried(program!, rules)).not.toContain('FAILED');
  });

  test.for(
    rules.flatMap((rule) =>
      mutantsOf(rule).map(({ what, rule: mutant }) => ({ what: `${rule.severity}: ${what}`, rule, mutant })),
    ),
  )('a case notices: without $what', { timeout: 120_000 }, async ({ rule, mutant }, { skip }) => {
    if (program === undefined) skip('promtool is not installed');
    const tries = rules.map((one) => (one === rule ? mutant : one));
    const output = await tried(program!, tries);
    expect(output).toContain('FAILED');
    expect(output).not.toContain('parse error');
  });
});
