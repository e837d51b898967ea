/** The bench of replicas, as test/system/bench.test.ts has the others. */
import { expect, test } from 'vitest';
import { unprinted } from '../support/bench-prints.ts';
import { OWN_SERVERS } from '../support/postgres/servers.ts';

const RUN = {
  script: 'replicas',
  sizes: {
    REPLICAS: 2,
    ACCOUNTS: 5,
    RATE: 300,
    BACKLOG: 1_200,
    STEADY_MS: 500,
    LEASE_MS: 2_000,
    LOGS_EVERY: '1s',
  },
  prints: [
    /^\| 5 accounts \| SQLite \| 2 replicas \|$/m,
    /^\| after an outage: entries\/s \| [\d.]+ \| [\d.]+ \([\d.]+\) \|$/m,
    /^\| `kill -9`: all accounts act, s \| [\d.]+ \| [\d.]+ \([\d.]+\) \|$/m,
  ],
};

test.each(OWN_SERVERS)('the bench replicas prints its figures, on %s', { timeout: 600_000 }, async () => {
  expect(await unprinted(RUN)).toEqual([]);
});
