/** Runs test/system/killed.test.ts with KILLS kills (default 10) and a new seed (SEED). */
import { expect, test } from 'vitest';
import { killedLogs } from '../support/kill-logs.ts';

const KILLS = Number(process.env['KILLS'] ?? 10);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`the log, over ${KILLS} kills (seed ${SEED})`, { timeout: KILLS * 10_000 + 60_000 }, async () => {
  const truth = await killedLogs({ kills: KILLS, seed: SEED });
  expect(truth.counters).toMatchObject({ 'msgsvc_log_events_total CREATED': 5 * KILLS });
});
