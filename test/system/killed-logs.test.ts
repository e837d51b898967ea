/** The counts of the log outlive `kill -9`: a few kills here, two hundred in the soak. */
import { expect, test } from 'vitest';
import { killCampaign } from '../support/kill-campaign.ts';

test('a daemon killed ten times at random moments tells what the service did', async () => {
  const truth = await killCampaign({ kills: 10, seed: 4 });
  expect(truth.states).toMatchObject({ CREATED: 50, FAILED: 10 });
  expect(truth.cancelled).toBeGreaterThan(0);
  expect(truth.inFlight).toBeGreaterThan(0);
});
