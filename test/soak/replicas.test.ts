/**
 * Runs test/system/replicas.test.ts with ROUNDS faults of all kinds (default 12), ACCOUNTS accounts (default 12), and a
 * new seed (SEED).
 */
import { expect, test } from 'vitest';
import { OWN_SERVERS } from '../support/postgres/servers.ts';
import { replicaCampaign } from '../support/replicas/campaign.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 12);
const ACCOUNTS = Number(process.env['ACCOUNTS'] ?? 12);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const LEASE_MS = 5_000;
/** Time after the lease within which the next owner acts. */
const GRACE_MS = 10_000;

const timeout = ROUNDS * 60_000 + 120_000;
test.each(OWN_SERVERS)(`replicas on %s, over ${ROUNDS} faults (seed ${SEED})`, { timeout }, async () => {
  const found = await replicaCampaign({
    rounds: ROUNDS,
    seed: SEED,
    replicas: 3,
    accounts: ACCOUNTS,
    leaseMs: LEASE_MS,
    requestMs: 1_500,
    onRound: (line) => process.stdout.write(`${new Date().toISOString()} ${line}\n`),
  });
  // The figures are the purpose of the run.
  process.stdout.write(`${JSON.stringify({ seed: SEED, accounts: ACCOUNTS, ...found }, undefined, 2)}\n`);
  expect(found.takeovers.worstMs).toBeLessThanOrEqual(LEASE_MS + GRACE_MS);
});
