/** Three replicas over one PostgreSQL, while each part of them fails: each fault once here, hundreds in the soak. */
import { expect, test } from 'vitest';
import { OWN_SERVERS } from '../support/postgres/servers.ts';
import { replicaCampaign } from '../support/replicas/campaign.ts';
import { FAULTS } from '../support/replicas/faults.ts';

test.each(OWN_SERVERS)('replicas on %s act once, count each log entry once, and take over', async () => {
  const found = await replicaCampaign({
    rounds: FAULTS.length,
    seed: 1,
    replicas: 3,
    accounts: 6,
    leaseMs: 6_000,
    requestMs: 3_000,
  });
  expect(found.takeovers.count).toBeGreaterThan(0);
  expect(found.resumed).toBeGreaterThan(0);
});
