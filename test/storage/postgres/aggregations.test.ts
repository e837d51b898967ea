/** The stores of aggregations read the same from both databases. */
import { expect, test } from 'vitest';
import { openMemoryStore } from '#storage/memory-store.ts';
import { runAggregations } from '../../support/all-aggregations.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { postgresStore } from '../../support/postgres/test-databases.ts';

test.each(SERVERS)('%s', async (server) => {
  const expected = await runAggregations(openMemoryStore().database);
  expect(await runAggregations(await postgresStore(server))).toEqual(expected);
});
