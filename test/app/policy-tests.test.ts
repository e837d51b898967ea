/** Policy tests beside the file of a policy, as the daemon runs them for its pages. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { policyTestsOf } from '#app/policy-tests.ts';
import { loadConfig } from '#config/load.ts';
import type { Config } from '#config/config.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Configuration over a copy of the shipped policies. */
function shipped(): { readonly folder: string; readonly config: Config } {
  const folder = tempDir();
  cpSync(new URL('../../policies', import.meta.url), join(folder, 'policies'), { recursive: true });
  const file = join(folder, 'opsd.yaml');
  writeFileSync(
    file,
    `accounts: [{ name: production, messageApi: { url: "http://127.0.0.1:9", token: t } }]
policyFiles: [policies/resume-minimal.yaml, policies/resume-billing.yaml]
`,
  );
  const loaded = loadConfig(file, { env: {}, secrets: true });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return { folder, config: loaded.config };
}

const nameOf = (config: Config, file: string): string =>
  config.policies.find(({ source }) => source.includes(file))!.settings.name;

test('the tests of the shipped policies pass, each policy with its own', async () => {
  const { folder, config } = shipped();
  const run = policyTestsOf(config, {});
  const [minimal, billing] = [nameOf(config, 'resume-minimal'), nameOf(config, 'resume-billing')];
  const results = await Promise.all([run(minimal), run(billing)]);
  expect(results.map((result) => result?.file)).toEqual([
    join(folder, 'policies/resume-minimal_test.yaml'),
    join(folder, 'policies/resume-billing_test.yaml'),
  ]);
  for (const result of results) {
    expect(result!.tests.length).toBeGreaterThan(0);
    expect(result!.tests.filter(({ failed }) => failed !== undefined)).toEqual([]);
  }
  expect(await run('unknown')).toBeUndefined();
});

test('a failed test has its line, an invalid file its problems, and a policy without a file nothing', async () => {
  const { folder, config } = shipped();
  const policy = nameOf(config, 'resume-minimal');
  const file = join(folder, 'policies/resume-minimal_test.yaml');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('outcome: acted', 'outcome: held'));
  const failed = (await policyTestsOf(config, {})(policy))!.tests.filter((one) => one.failed !== undefined);
  expect(failed[0]!.failed).toMatch(/^line \d+: .*outcome/);
  writeFileSync(file, 'tests: [{ nam: x }]');
  expect((await policyTestsOf(config, {})(policy))!.problems).toContain('resume-minimal_test.yaml:1:');
  const inline = { files: config.files, policies: [{ ...config.policies[0]!, source: 'opsd.yaml:3' }] };
  expect(await policyTestsOf(inline, {})(config.policies[0]!.settings.name)).toBeUndefined();
});
