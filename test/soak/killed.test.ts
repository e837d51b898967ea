/** Runs test/system/killed.test.ts with KILLS kills (default 200) and a new seed (SEED). */
import { expect, test } from 'vitest';
import { killCampaign } from '../support/kill-campaign.ts';
import { answerMessages, killedLogs } from '../support/kill-logs.ts';
import { killedStatistics } from '../support/kill-statistics.ts';
import { killedWorkflowDlq } from '../support/kill-workflow-dlq.ts';
import { total } from '../support/log-truth.ts';

const KILLS = Number(process.env['KILLS'] ?? 200);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const how = { kills: KILLS, seed: SEED, answer: answerMessages() };
const timeout = KILLS * 10_000 + 60_000;

test(`the log, over ${KILLS} kills (seed ${SEED})`, { timeout }, async () => {
  const truth = await killCampaign(how, killedLogs);
  expect(total(truth, 'msgsvc_messages_created_total')).toBe(5 * KILLS);
});

test(`statistics, over ${KILLS} kills (seed ${SEED})`, { timeout }, async () => {
  const truth = await killCampaign(how, killedStatistics);
  expect(truth['msgsvc_account_messages_total created']).toBeGreaterThan(KILLS);
});

test(`the workflow DLQ, over ${KILLS} kills (seed ${SEED})`, { timeout }, async () => {
  const { entered, left } = await killCampaign(how, killedWorkflowDlq);
  expect([entered > KILLS, left['other']! > KILLS / 4]).toEqual([true, true]);
});
