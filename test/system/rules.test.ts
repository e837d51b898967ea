/** The rules before the real promtool: they load, and their cases hold. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ALERTS_FILE, PROMETHEUS_RULE_FILE, RECORDING_FILE } from '../../deploy/prometheus/render.ts';
import { installed, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const CASES = join(ROOT, 'deploy/prometheus/tests');

async function promtool(program: string, args: readonly string[]) {
  const ran = start(program, args);
  const { code } = await ran.ended;
  return { code, output: ran.stdout() + ran.stderr() };
}

test('promtool finds nothing wrong with the rules', async ({ skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const { code, output } = await promtool(program!, ['check', 'rules', '--lint-fatal', RECORDING_FILE, ALERTS_FILE]);
  expect(output).not.toMatch(/FAIL|error|warn|duplicate/i);
  expect(output.match(/SUCCESS: \d+ rules found/g)).toHaveLength(2);
  expect(code).toBe(0);
});

test.for(readdirSync(CASES))('%s: every case holds', async (file, { skip }) => {
  const program = installed('promtool');
  if (program === undefined) skip('promtool is not installed');
  const { code, output } = await promtool(program!, ['test', 'rules', join(CASES, file)]);
  expect(output).toContain('SUCCESS');
  expect(output).not.toContain('FAILED');
  expect(code).toBe(0);
});

test('npm run rules takes an address of runbooks, and another folder', async () => {
  const folder = tempDir();
  const render = async (...args: readonly string[]) => {
    const ran = start(process.execPath, ['deploy/prometheus/render.ts', ...args]);
    const { code } = await ran.ended;
    return { code, stderr: ran.stderr() };
  };
  expect(await render('--out', folder, '--runbooks', 'https://wiki.example/opsd')).toEqual({ code: 0, stderr: '' });
  for (const path of [ALERTS_FILE, PROMETHEUS_RULE_FILE]) {
    expect(readFileSync(join(folder, path), 'utf8')).toContain('runbook_url: https://wiki.example/opsd/OpsdDown.md');
  }
  expect(await render('--out', folder, '--runbooks', 'wiki')).toEqual({
    code: 64,
    stderr: '--runbooks wiki: expected an address such as https://msgsvc-opsd.example/runbooks/\n',
  });
});
