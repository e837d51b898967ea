/** The rules in the real promtool: they load, and their cases pass. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENT } from '../../deploy/prometheus/document.ts';
import { CORE_FILE, EXTENDED_FILE, PROMETHEUS_RULE_FILE, RULE_FILES } from '../../deploy/prometheus/render.ts';
import { GRAFANA, RUNBOOKS } from '../../deploy/prometheus/thresholds.ts';
import { installed, start } from '../support/program.ts';
import { copyCases, readRules, withoutTexts } from '../support/rule-cases.ts';
import { takeoversIn } from '../support/takeover-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const CASES = join(ROOT, 'deploy/prometheus/tests');
const ALERTS = join(ROOT, DOCUMENT);
const RULES = RULE_FILES.map((path) => readRules(join(ROOT, path)));
const WITHOUT_TEXTS = RULES.map(({ path, file }) => ({ path, file: withoutTexts(file) }));

/** Returns what promtool reports of cases that do not pass. `npm run soak` evaluates all rules in all cases. */
async function failures(program: string, cases: readonly string[]): Promise<string> {
  const { code, output } = await promtool(program, ['test', 'rules', ...cases]);
  return code === 0 && output.match(/SUCCESS/g)?.length === cases.length ? '' : output;
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

test('a file of cases passes as docs/alerts.md shows', async ({ skip }) => {
  if (installed('promtool') === undefined) skip('promtool is not installed');
  const command = /`(promtool test rules .*)`/.exec(readFileSync(ALERTS, 'utf8'))![1]!;
  const ran = start('sh', ['-c', command.replace('*', 'flow-control')]);
  expect(await ran.ended, ran.stderr()).toMatchObject({ code: 0 });
  expect(ran.stdout().match(/SUCCESS/g)).toHaveLength(1);
});

// One after the other: promtool uses all cores.
test.for(readdirSync(CASES))('%s passes', async (name, { skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const text = readFileSync(join(CASES, name), 'utf8');
  expect(await failures(program!, copyCases({ name, text }, RULES, tempDir()))).toBe('');
});

// The test of mutants derives them from all files.
test.for(['spend', 'spend-days', 'search', 'canary'])('%s: as before after takeovers', async (file, { skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const name = `${file}.test.yaml`;
  const text = takeoversIn(readFileSync(join(CASES, name), 'utf8'));
  expect(await failures(program!, copyCases({ name, text }, WITHOUT_TEXTS, tempDir()))).toBe('');
});

test('sed sets the addresses of runbooks and dashboards, as docs/monitoring.md shows', async ({ skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const command = /^sed -i .*$/m.exec(readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8'))![0];
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

test('sed changes a threshold without Node, as docs/monitoring.md shows', async ({ skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const command = /^sed -i .*\n^promtool check rules .*$/m.exec(
    readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8'),
  )![0];
  const folder = tempDir();
  const copy = join(folder, basename(CORE_FILE));
  copyFileSync(join(ROOT, CORE_FILE), copy);
  const ran = start('sh', ['-ec', command], { cwd: folder });
  expect(await ran.ended, ran.stderr()).toMatchObject({ code: 0 });
  const shipped = readFileSync(join(ROOT, CORE_FILE), 'utf8').split('\n');
  const changed = readFileSync(copy, 'utf8').split('\n');
  expect(changed.filter((line, index) => line !== shipped[index])).toEqual([
    '        expr: account:msgsvc_account_budget_used:ratio >= 0.8',
    expect.stringContaining('of the monthly budget used (limit 80 %)') as string,
  ]);
});

test('npm run rules accepts another folder', async () => {
  const folder = tempDir();
  const ran = start(process.execPath, ['deploy/prometheus/render.ts', '--out', folder]);
  expect(await ran.ended, ran.stderr()).toMatchObject({ code: 0 });
  for (const path of [...RULE_FILES, PROMETHEUS_RULE_FILE]) {
    expect(readFileSync(join(folder, path), 'utf8')).toBe(readFileSync(join(ROOT, path), 'utf8'));
  }
});
