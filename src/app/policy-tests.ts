/** Runs the policy tests beside a policy file: `billing_test.yaml` beside `billing.yaml`. */
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import type { Config } from '#config/config.ts';
import type { LoadedTests } from '#config/policy-tests.ts';
import { formatProblems } from '#config/problem.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { PolicyTestResults } from '#operate/api/reading-ports.ts';

type Loaded = Extract<LoadedTests, { ok: true }>;

/**
 * Returns a function that runs the tests of a policy, one call after the other. It returns undefined if no file with
 * tests is beside the file of the policy.
 */
export function policyTestsOf(
  { files, policies }: Pick<Config, 'files' | 'policies'>,
  env: Readonly<Record<string, string | undefined>>,
): (policy: string) => Promise<PolicyTestResults | undefined> {
  const runs = new OneByOne();
  return (policy) => {
    const source = policies.find(({ settings }) => settings.name === policy)?.source.replace(/:\d+$/, '');
    const own = files.find((file) => source !== undefined && file.endsWith(source.replace(/^(?:\.\.?\/)+/, '')));
    const file = own?.replace(/\.ya?ml$/, `_test${extname(own)}`);
    if (file === undefined || file === own || !existsSync(file)) return Promise.resolve(undefined);
    return runs.run(() => runFile(file, policy, env));
  };
}

async function runFile(
  file: string,
  policy: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PolicyTestResults> {
  const { loadPolicyTests } = await import('#config/policy-tests.ts');
  const loaded = loadPolicyTests(file, { env });
  if (!loaded.ok) return { file, problems: formatProblems(loaded.problems, { color: false }), tests: [] };
  const own = loaded.tests.filter(({ test }) => test.steps.some(({ run }) => run === policy));
  return { file, tests: await Array.fromAsync(own, (one) => runOne(one, loaded.policies)) };
}

async function runOne({ test, line, stepLines }: Loaded['tests'][number], policies: Loaded['policies']) {
  const { runPolicyTest } = await import('#automate/policytest/scenario.ts');
  const { memoryLedger } = await import('#storage/memory-ledger.ts');
  const failed = await runPolicyTest(test, policies, () => memoryLedger('test'));
  if (failed === undefined) return { name: test.name, line };
  const at = stepLines[failed.step] ?? line;
  const what = failed.problem ?? failed.differences.map(({ path }) => path).join(', ');
  return { name: test.name, line, failed: `line ${at}: ${what}` };
}
