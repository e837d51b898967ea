/** Counts survive `kill -9`: two kills here, more in the soak. The simulation has faults of the service, and other counts. */
import { expect, test } from 'vitest';
import { killedLogs } from '../support/kill-logs.ts';

test('a daemon killed twice at random moments reports the content of the log', async () => {
  const truth = await killedLogs({ kills: 2, seed: 4 });
  expect(truth.counters).toMatchObject({ 'msgsvc_log_events_total CREATED': 10, 'msgsvc_log_events_total FAILED': 2 });
  expect(truth.inFlight).not.toEqual({});
});
