/** Runs test/system/policies-killed.test.ts with KILLS kills (default 10) and a new seed (SEED). */
import { expect, test } from 'vitest';
import { killPolicies } from '../support/kill-policies.ts';

const KILLS = Number(process.env['KILLS'] ?? 10);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`policies, over ${KILLS} kills (seed ${SEED})`, { timeout: KILLS * 20_000 + 60_000 }, async () => {
  const figures = await killPolicies({ kills: KILLS, seed: SEED });
  // The figures are the purpose of the run.
  process.stdout.write(`${JSON.stringify({ seed: SEED, ...figures }, undefined, 2)}\n`);
  expect(figures.resumed).toBeGreaterThan(KILLS / 4);
});
