/** Counts survive `kill -9`: a few kills here, more in the soak. The simulation covers the other counts. */
import { expect, test } from 'vitest';
import { killedLogs } from '../support/kill-logs.ts';
import { total } from '../support/log-truth.ts';

test('a daemon killed five times at random moments reports the content of the log', async () => {
  const truth = await killedLogs({ kills: 5, seed: 4 });
  expect(truth.counters).toMatchObject({ 'msgsvc_log_events_total CREATED': 25, 'msgsvc_log_events_total FAILED': 5 });
  expect(total(truth, 'msgsvc_message_cancellations_total')).toBeGreaterThan(0);
  expect(truth.inFlight).not.toEqual({});
});
