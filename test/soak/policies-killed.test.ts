/** As test/system/policies-killed.test.ts, with as many kills as KILLS says (default 200) and a seed no run had before (SEED). */
import { expect, test } from 'vitest';
import { killPolicies } from '../support/kill-policies.ts';

const KILLS = Number(process.env['KILLS'] ?? 200);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`policies, over ${KILLS} kills (seed ${SEED})`, { timeout: KILLS * 20_000 + 60_000 }, async () => {
  const figures = await killPolicies({ kills: KILLS, seed: SEED });
  // The figures of a run are what it is run for.
  process.stdout.write(`${JSON.stringify({ seed: SEED, ...figures }, undefined, 2)}\n`);
  expect(figures.effects.resumed).toBeGreaterThan(KILLS / 4);
});
