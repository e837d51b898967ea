/** The stores of aggregations and incidents read the same from both databases. */
import { describe, expect, test } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { runAggregations } from '../../support/all-aggregations.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { postgresStore } from '../../support/postgres/test-databases.ts';

describe.each(SERVERS)('%s', (server) => {
  test('aggregations', async () => {
    const expected = await runAggregations(openMemoryStore().database);
    expect(await runAggregations(await postgresStore(server))).toEqual(expected);
  });

  test('incidents', async () => {
    const database = await postgresStore(server);
    const incidents = createIncidentStore({ database });
    const incident = { id: 'a', account: 'production' } as Incident;
    const member = (dlqId: string) => ({ queue: 'workflow' as const, dlqId, incident: 'a', at: 1 });
    const none = { changed: [], added: [], removed: [], merged: [], forgotten: [] };
    const about = { ...none, account: 'production' };
    await incidents.commit({ ...about, changed: [incident], added: [member('x'), member('y')] });
    await incidents.commit({ ...about, removed: [member('x')] });
    const members: string[] = [];
    await incidents.readMembers(({ dlqId }) => void members.push(dlqId));
    expect([await incidents.load(), members]).toEqual([[incident], ['y']]);
    for (const detail of ['1', '1', '2']) await incidents.mark({ at: 1, kind: 'version', detail });
    expect(await incidents.marks()).toHaveLength(2);
    await incidents.commit({ ...about, changed: [{ ...incident, id: 'b' }], merged: [['a', 'b']] });
    await incidents.commit({ ...about, forgotten: ['b'] });
    expect(await incidents.load()).toEqual([]);
  });
});
