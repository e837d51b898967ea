/** The counts of the log outlive `kill -9`: a few kills here, two hundred in the soak. */
import { expect, test } from 'vitest';
import { killCampaign } from '../support/kill-campaign.ts';
import { total } from '../support/log-truth.ts';

test('a daemon killed ten times at random moments tells what the service did', async () => {
  const truth = await killCampaign({ kills: 10, seed: 4 });
  expect(truth.counters).toMatchObject({ 'msgsvc_log_events_total CREATED': 50, 'msgsvc_log_events_total FAILED': 10 });
  expect(total(truth, 'msgsvc_message_cancellations_total')).toBeGreaterThan(0);
  expect(truth.inFlight).not.toEqual({});
});
