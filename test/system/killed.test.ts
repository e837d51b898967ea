/** Counts survive `kill -9`: a few kills here, two hundred in the soak. */
import { expect, test } from 'vitest';
import { killCampaign } from '../support/kill-campaign.ts';
import { answerMessages, killedLogs } from '../support/kill-logs.ts';
import { killedStatistics } from '../support/kill-statistics.ts';
import { killedWorkflowDlq } from '../support/kill-workflow-dlq.ts';
import { total } from '../support/log-truth.ts';

const kills = 10;

test('a daemon killed ten times at random moments reports the content of the log', async () => {
  const truth = await killCampaign({ kills, seed: 4, answer: answerMessages() }, killedLogs);
  expect(truth.counters).toMatchObject({ 'msgsvc_log_events_total CREATED': 50, 'msgsvc_log_events_total FAILED': 10 });
  expect(total(truth, 'msgsvc_message_cancellations_total')).toBeGreaterThan(0);
  expect(truth.inFlight).not.toEqual({});
});

test('a daemon killed ten times at random moments reports the content of the statistics', async () => {
  const truth = await killCampaign({ kills, seed: 5, answer: answerMessages() }, killedStatistics);
  expect(truth['msgsvc_account_messages_total delivered']).toBeGreaterThan(1_000);
  expect(truth['msgsvc_account_used_workflow_messages_total']).toBeGreaterThan(1_000);
});

test('a daemon killed ten times at random moments reports which runs entered and left the workflow DLQ', async () => {
  const { entered, left } = await killCampaign({ kills, seed: 6, answer: answerMessages() }, killedWorkflowDlq);
  expect(entered).toBeGreaterThan(10);
  expect(left['other']).toBeGreaterThan(5);
});
