/** A process may end at any time: the audit log stays valid, and agrees with the store. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { auditPathOf, readAudit } from '#automate/ledger/audit-reader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';
import { dying } from './programs/dying.ts';

test.each([
  ['before-record', { sent: false, claimed: false, told: [] }],
  ['within-record', { sent: false, claimed: false, told: ['audit.torn'] }],
  ['before-commit', { sent: false, claimed: false, told: ['intent', 'audit.not_committed'] }],
  ['after-commit', { sent: true, claimed: true, told: ['intent'] }],
])('a process killed %s of an intent', async (moment, expected) => {
  const path = join(tempDir(), 'opsd.db');
  expect(await dying('die-in-a-change', path, moment)).toBe(expected.sent ? 'sent' : '');
  using store = openStore(path);
  using audit = openAuditLog(store, new ManualClock(1));
  const ledger = await openLedger(store, audit);
  expect(ledger.mustBeAdopted).toBeUndefined();
  expect((await ledger.claims('production', ['first'])).has('first')).toBe(true);
  expect((await ledger.claims('production', ['second'])).has('second')).toBe(expected.claimed);
  const records = await Array.fromAsync(readAudit(auditPathOf(path)));
  const [, , , ...told] = records.map(({ type }) => type);
  expect(told).toEqual([...expected.told, 'store.opened']);
  expect(await audit.verify()).not.toHaveProperty('finding');
});
