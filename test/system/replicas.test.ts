/** Three replicas over one PostgreSQL, while each part of them fails: ten faults here, hundreds in the soak. */
import { expect, test } from 'vitest';
import { OWN_SERVERS } from '../support/postgres/servers.ts';
import { replicaCampaign } from '../support/replicas/campaign.ts';

// A limit on hanging: a round is as long as two leases, and a busy machine is no failure.
test.each(OWN_SERVERS)(
  'replicas on %s act once, count each log entry once, and take over',
  { timeout: 600_000 },
  async () => {
    const found = await replicaCampaign({
      rounds: 10,
      seed: 1,
      replicas: 3,
      accounts: 6,
      leaseMs: 3_000,
      requestMs: 1_000,
    });
    expect(found.takeovers.count).toBeGreaterThan(0);
    expect(found.resumed).toBeGreaterThan(0);
  },
);
