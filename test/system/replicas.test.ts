/**
 * Three replicas over one PostgreSQL, while parts of them fail: two faults here, all kinds in the soak. The simulation
 * has single kills and lost connections, and database-outages.test.ts ends the database.
 */
import { expect, test } from 'vitest';
import { OWN_SERVERS } from '../support/postgres/servers.ts';
import { replicaCampaign } from '../support/replicas/campaign.ts';
import type { FaultName } from '../support/replicas/faults.ts';

const faults: readonly FaultName[] = ['kill two', 'pause'];

test.each(OWN_SERVERS)('replicas on %s act once, count each log entry once, and take over', async () => {
  const found = await replicaCampaign({
    rounds: faults.length,
    faults,
    seed: 1,
    replicas: 3,
    accounts: 6,
    leaseMs: 6_000,
    requestMs: 3_000,
  });
  expect(found.takeovers.count).toBeGreaterThan(0);
  expect(found.resumed).toBeGreaterThan(0);
});
