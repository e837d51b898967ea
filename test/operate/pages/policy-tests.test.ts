/** Policy tests on the page of a policy. */
import { expect, test } from 'vitest';
import { ask, serving } from '../http/world.ts';
import { basicOf, busy, OPERATOR } from './worlds.ts';

test('an operator runs the policy tests, a viewer starts none', async () => {
  let runs = 0;
  const world = busy();
  const { address } = await serving({
    ...world,
    policyTests: (policy) => {
      runs += 1;
      return world.policyTests(policy);
    },
  });
  const page = async (user: string, path: string): Promise<string> =>
    (await ask(address, path, { headers: { authorization: basicOf(user) } })).text;
  expect(await page('vera', '/policies/resume-billing?tests=run')).toContain('An operator can run the tests');
  expect(await page(OPERATOR.user, '/policies/resume-billing')).toContain('Run the tests');
  expect(runs).toBe(0);
  const shown = await page(OPERATOR.user, '/policies/resume-billing?tests=run');
  for (const text of ['billing_test.yaml', 'a canary goes first', 'passed', 'line 30: outcome']) {
    expect(shown).toContain(text);
  }
  expect(runs).toBe(1);
});
