/** As test/system/killed-logs.test.ts, with as many kills as KILLS says (default 200) and a seed no run had before. */
import { expect, test } from 'vitest';
import { killCampaign } from '../support/kill-campaign.ts';
import { total } from '../support/log-truth.ts';

const KILLS = Number(process.env['KILLS'] ?? 200);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`a daemon killed ${KILLS} times (seed ${SEED})`, { timeout: KILLS * 10_000 + 60_000 }, async () => {
  const truth = await killCampaign({ kills: KILLS, seed: SEED });
  expect(total(truth, 'msgsvc_messages_created_total')).toBe(5 * KILLS);
});
