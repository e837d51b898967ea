/** An acknowledgment is in the audit log before it takes effect. */
import { describe, expect, test } from 'vitest';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { createAcknowledgments } from '#storage/ledger-acknowledgments.ts';
import type { Journal } from '#storage/ledger-journal.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { readingOfRuns, run as runOf } from '../observe/incidents/planted.ts';
import { STORES, type TestStore } from '../support/postgres/test-stores.ts';

async function world({ database, journal }: Pick<TestStore, 'database' | 'journal'>) {
  const incidents = createIncidentStore({ database });
  for await (const _part of (await IncidentBook.open(incidents)).take(readingOfRuns([runOf({ dlqId: 'a' })])));
  const incident = (await incidents.load())[0]!.id;
  const acknowledgments = createAcknowledgments(journal);
  return {
    present: async () => (await incidents.load())[0]!.acknowledged,
    acknowledge: (note: string, end = {}) =>
      acknowledgments.acknowledgeIncident({ id: incident, account: 'production' }, { by: 'anna', note, at: 5, ...end }),
    incident,
    incidents,
  };
}

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  test('it is recorded with operator and note, and the latest one counts', async () => {
    const store = await open();
    const { acknowledge, present, incident } = await world(store);
    await acknowledge('seen');
    await acknowledge('vendor called');
    expect(await store.audited()).toEqual(
      ['seen', 'vendor called'].map((reason) => ({
        type: 'incident.acknowledged',
        account: 'production',
        incident,
        by: 'anna',
        reason,
      })),
    );
    expect(await present()).toEqual({ by: 'anna', note: 'vendor called', at: 5 });
  });

  test.each([[{ until: 7_200_000 }], [{ untilDeploy: true }]])('a snooze has its end, %j', async (end) => {
    const store = await open();
    const { acknowledge, present, incident, incidents } = await world(store);
    await acknowledge('', end);
    expect(await store.audited()).toEqual([
      { type: 'incident.snoozed', account: 'production', incident, by: 'anna', ...end },
    ]);
    expect(await present()).toEqual({ by: 'anna', note: '', at: 5, ...end });
    // It ended: the record of the incident is newer.
    const ended = { by: 'anna', note: '', at: 5, endedAt: 9, ...end };
    const changed = (await incidents.load()).map((one) => ({ ...one, acknowledged: ended }));
    await incidents.commit({ account: 'production', changed, added: [], removed: [], merged: [], forgotten: [] });
    expect(await present()).toEqual(ended);
    await acknowledge('seen', { at: 10 });
    expect(await present()).toEqual({ by: 'anna', note: 'seen', at: 10 });
  });

  test('without the audit log nothing is acknowledged', async () => {
    const store = await open();
    const write: Journal['write'] = (work, account) =>
      store.journal.write(
        (tell) =>
          work(function* (entry) {
            yield* tell(entry);
            throw new Error('disk full');
          }),
        account,
      );
    const { acknowledge, present } = await world({ ...store, journal: { ...store.journal, write } });
    await expect(acknowledge('seen')).rejects.toThrow('disk full');
    expect(await present()).toBeUndefined();
  });
});
