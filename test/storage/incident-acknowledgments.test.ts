/** An acknowledgment is in the audit log before it takes effect. */
import { expect, test } from 'vitest';
import type { AuditEntry, AuditLog } from '#automate/ledger/audit-log.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { createIncidentStore } from '#storage/sqlite-incident-store.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { readingOfRuns, run } from '../observe/incidents/planted.ts';

async function world(append: (entry: AuditEntry) => void) {
  const store = openMemoryStore('here');
  const audit: AuditLog = memoryAudit();
  const ledger = await openLedger(store, {
    ...audit,
    append(entry) {
      append(entry);
      return audit.append(entry);
    },
  });
  const incidents = createIncidentStore(store);
  for await (const _part of (await IncidentBook.open(incidents)).take(readingOfRuns([run({ dlqId: 'a' })])));
  const incident = (await incidents.load())[0]!.id;
  return {
    present: async () => (await incidents.load())[0]!.acknowledged,
    acknowledge: (note: string) =>
      ledger.acknowledgeIncident({ incident, account: 'production', by: 'anna', note, at: 5 }),
    incident,
  };
}

test('it is recorded with operator and note, and the latest one counts', async () => {
  const records: AuditEntry[] = [];
  const { acknowledge, present, incident } = await world((entry) => void records.push(entry));
  await acknowledge('seen');
  await acknowledge('vendor called');
  expect(records.filter(({ type }) => type !== 'store.opened')).toEqual(
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

test('without the audit log nothing is acknowledged', async () => {
  const { acknowledge, present } = await world(() => {
    throw new Error('disk full');
  });
  await expect(acknowledge('seen')).rejects.toThrow('disk full');
  expect(await present()).toBeUndefined();
});
