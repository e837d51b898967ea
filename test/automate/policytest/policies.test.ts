/** The example policies: they load, show every action in every mode, and their own tests pass. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '#config/load.ts';
import { loadPolicyTests } from '#config/policy-tests.ts';
import { policyTestSettings } from '#automate/policytest/settings.ts';
import { ACTION_TYPES, POLICY_MODES } from '#foundation/domain/plan.ts';
import { opsd } from '../../cli/terminal.ts';

const FOLDER = join(import.meta.dirname, '../../../policies');
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
const tests = files.filter((file) => file.endsWith('_test.yaml'));
const policies = files.filter((file) => !tests.includes(file));

describe('the example policies', () => {
  test('each has a file of tests beside it', () => {
    expect(tests.map((file) => file.replace('_test.yaml', '.yaml'))).toEqual(policies);
  });

  test.each(tests)('%s passes, with the command itself', async (file) => {
    const { code, stdout, stderr } = await opsd(['test', join(FOLDER, file)]);
    expect(stderr).toBe('');
    expect(stdout).toContain('SUCCESS');
    expect(code).toBe(0);
  });

  test('show every action, in every mode, and four lines that suffice', () => {
    const config = loadConfig(join(FOLDER, '../config.example.yaml'), { env: {}, secrets: false });
    if (!config.ok) throw new Error('config.example.yaml does not load');
    const examples = config.config.policies.filter(({ source }) => source.startsWith('policies/'));
    expect(examples).toHaveLength(policies.length);
    expect(new Set(examples.map(({ settings }) => settings.action.type))).toEqual(new Set(ACTION_TYPES));
    expect(new Set(examples.map(({ settings }) => settings.mode))).toEqual(new Set(POLICY_MODES));
    const shortest = readFileSync(join(FOLDER, 'resume-minimal.yaml'), 'utf8');
    expect(
      shortest.split('\n').filter((line) => /^ {2,}(?!#|- name)\S/.test(line) && !/^\s*#/.test(line)),
    ).toHaveLength(4);
  });

  test.each(policies)('%s begins with its purpose, in words', (file) => {
    expect(readFileSync(join(FOLDER, file), 'utf8')).toMatch(/^# \S.*\n#/);
  });

  test('every policy is run by its tests, with requests named where it may act', () => {
    for (const file of tests) {
      const loaded = loadPolicyTests(join(FOLDER, file), { env: {} });
      if (!loaded.ok) throw new Error(`${file} does not load`);
      const runs = loaded.tests.flatMap(({ test: one }) => one.steps.filter(({ run }) => run !== undefined));
      expect(new Set(runs.map(({ run }) => run)), file).toEqual(
        new Set(loaded.policies.map(({ settings }) => settings.name)),
      );
      expect(
        runs.some(({ expect: wanted }) => (wanted?.requests?.length ?? wanted?.requestCount ?? 0) > 0),
        file,
      ).toBe(true);
    }
  });
});

test('a step that only has responses does nothing, and is rejected with the keys that do', () => {
  const steps = [{ answers: ['good'] }];
  const read = policyTestSettings.safeParse({ policyFiles: ['a.yaml'], tests: [{ name: 'a test', steps }] });
  expect(read.error?.issues.map(({ message }) => message)).toEqual([
    'the step does nothing; add one of advance, entries, remove, deadLetters, facts, failAgain, deploy, pause, unpause, approve, plan, run',
  ]);
});
