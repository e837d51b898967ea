/** The rules in the real promtool: they load, and their cases pass. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENT } from '../../deploy/prometheus/document.ts';
import { CORE_FILE, EXTENDED_FILE, PROMETHEUS_RULE_FILE, RULE_FILES } from '../../deploy/prometheus/render.ts';
import { GRAFANA, RUNBOOKS } from '../../deploy/prometheus/thresholds.ts';
import { installed, start } from '../support/program.ts';
import { copyCases, readRules, recordedFor, withoutTexts } from '../support/rule-cases.ts';
import { takeoversIn } from '../support/takeover-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const CASES = join(ROOT, 'deploy/prometheus/tests');
const ALERTS = join(ROOT, DOCUMENT);
const RULES = RULE_FILES.map((path) => readRules(join(ROOT, path)));

/** Returns the alerts that the cases name and what they read, without their texts. */
function rulesOf(cases: string): typeof RULES {
  const all = RULES.flatMap(({ file }) => file.groups.flatMap(({ rules }) => rules));
  const alerts = all.filter(({ alert }) => alert !== undefined && cases.includes(`alertname: ${alert}\n`));
  const read = recordedFor(
    alerts.map(({ expr }) => expr),
    all.filter((rule): rule is typeof rule & { record: string } => rule.record !== undefined),
  );
  const needed = new Set<object>([...alerts, ...read]);
  return RULES.map(({ path, file }) => {
    const groups = file.groups.map((group) => ({ ...group, rules: group.rules.filter((rule) => needed.has(rule)) }));
    return { path, file: withoutTexts({ ...file, groups: groups.filter(({ rules }) => rules.length > 0) }) };
  });
}

async function promtool(program: string, args: readonly string[]) {
  // It collects garbage less often: memory is cheap here, time is not.
  const ran = start(program, args, { env: { GOGC: '400' } });
  const { code } = await ran.ended;
  return { code, output: ran.stdout() + ran.stderr() };
}

test('promtool reports no error in the rules', async ({ skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const { code, output } = await promtool(program!, ['check', 'rules', '--lint-fatal', ...RULE_FILES]);
  expect(output).not.toMatch(/FAIL|error|warn|duplicate/i);
  expect(output.match(/SUCCESS: \d+ rules found/g)).toHaveLength(3);
  expect(code).toBe(0);
});

/** Returns the arguments of the command in docs/alerts.md for one file of cases. */
function documentedFor(file: string): readonly string[] {
  const command = /`promtool (test rules )(deploy\/prometheus\/tests\/)\*\.test\.yaml`/.exec(
    readFileSync(ALERTS, 'utf8'),
  )!;
  return [...command[1]!.trim().split(' '), `${command[2]!}${file}`];
}

// One after the other: promtool uses all cores.
test.for(readdirSync(CASES))('%s passes as docs/alerts.md shows', { timeout: 600_000 }, async (file, { skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const { code, output } = await promtool(program!, documentedFor(file));
  expect(output).toContain('SUCCESS');
  expect(output).not.toContain('FAILED');
  expect(code).toBe(0);
});

// The test of mutants derives them from all files.
test.for(['spend', 'spend-days', 'search', 'canary'])('%s: as before after takeovers', async (name, { skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const text = readFileSync(join(CASES, `${name}.test.yaml`), 'utf8');
  const cases = copyCases({ name: `${name}.test.yaml`, text: takeoversIn(text) }, rulesOf(text), tempDir());
  expect(cases.length).toBeGreaterThan(0);
  const { code, output } = await promtool(program!, ['test', 'rules', ...cases]);
  expect(output.match(/SUCCESS/g)).toHaveLength(cases.length);
  expect(output).not.toContain('FAILED');
  expect(code).toBe(0);
});

test('sed sets the addresses of runbooks and dashboards, as docs/prometheus-grafana.md shows', async ({ skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const command = /^sed -i .*$/m.exec(readFileSync(join(ROOT, 'docs/prometheus-grafana.md'), 'utf8'))![0];
  const folder = tempDir();
  for (const path of RULE_FILES) copyFileSync(join(ROOT, path), join(folder, basename(path)));
  const ran = start('sh', ['-c', command], { cwd: folder });
  expect(await ran.ended, ran.stderr()).toMatchObject({ code: 0 });
  const files = [CORE_FILE, EXTENDED_FILE].map((path) => join(folder, basename(path)));
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const address of [RUNBOOKS, GRAFANA]) expect(text).not.toContain(address);
    const alerts = text.match(/alert: /g)!.length;
    expect(text.match(/runbook_url: https:\/\/wiki\.example\.org\/opsd\/\w+\.md$/gm)).toHaveLength(alerts);
    expect(text.match(/dashboard_url: https:\/\/grafana\.example\.org\/d\/opsd-/g)).toHaveLength(alerts);
  }
  expect((await promtool(program!, ['check', 'rules', ...files])).code).toBe(0);
});

test('npm run rules accepts another folder', async () => {
  const folder = tempDir();
  const ran = start(process.execPath, ['deploy/prometheus/render.ts', '--out', folder]);
  expect(await ran.ended, ran.stderr()).toMatchObject({ code: 0 });
  for (const path of [...RULE_FILES, PROMETHEUS_RULE_FILE]) {
    expect(readFileSync(join(folder, path), 'utf8')).toBe(readFileSync(join(ROOT, path), 'utf8'));
  }
});
