/** Search of the audit log: every record once, newest first, across segments, blocks and calls. */
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sealRecord } from '#automate/ledger/audit-chain.ts';
import type { AuditEntry, AuditHead, AuditRecord } from '#automate/ledger/audit-log.ts';
import { segmentPathOf } from '#automate/ledger/audit-reader.ts';
import { AuditCursorError, type AuditQuery } from '#automate/ledger/audit-reading.ts';
import { searchAudit } from '#automate/ledger/audit-search.ts';
import { tempDir } from '../../support/temp-dir.ts';

const START = Date.UTC(2026, 10, 18, 10, 0, 0);
const STILL = new AbortController().signal;

/** Writes entries into files, one list for each file, the oldest first. Returns the path of the log. */
function logOf(files: readonly (readonly AuditEntry[])[]): string {
  const path = join(tempDir(), 'opsd.db.audit.jsonl');
  let after: AuditHead | undefined;
  for (const [index, entries] of files.entries()) {
    const lines: string[] = [];
    for (const entry of entries) {
      const sequence: number = (after?.sequence ?? 0) + 1;
      const time = new Date(START + sequence * 60_000).toISOString();
      const sealed = sealRecord(entry, { time, store: 's', opening: 1, after });
      lines.push(`${sealed.line}\n`);
      after = sealed.head;
    }
    const isLast = index === files.length - 1;
    writeFileSync(isLast ? path : segmentPathOf(path, after?.sequence ?? 0), lines.join(''));
  }
  return path;
}

async function all(path: string, query: Partial<AuditQuery> = {}): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await searchAudit(path, { limit: 500, ...query, ...(cursor !== undefined && { cursor }) }, STILL);
    records.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

const numbers = (records: readonly AuditRecord[]): number[] => records.map(({ sequence }) => sequence);

test('every record occurs once, newest first, whatever the sizes of lines, files and pages', async () => {
  const entry = fc.record({ type: fc.constantFrom('intent', 'outcome'), reason: fc.string({ maxLength: 900 }) });
  const file = fc.array(entry, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (files, limit) => {
        const path = logOf(files);
        const count = files.flat().length;
        expect(numbers(await all(path, { limit }))).toEqual(Array.from({ length: count }, (_, at) => count - at));
      },
    ),
    { numRuns: 60 },
  );
});

test('a log of many blocks is read completely, at most 8 MiB per call', async () => {
  const filler = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`field${at}`, 'é'.repeat(900)]));
  const count = 400;
  const path = logOf([Array.from({ length: count }, () => ({ type: 'intent', ...filler }))]);
  const first = await searchAudit(path, { limit: 500 }, STILL);
  expect(first.records.length).toBeLessThan(count);
  expect(first.cursor).toBeDefined();
  expect(numbers(await all(path))).toEqual(Array.from({ length: count }, (_, at) => count - at));
});

test('filters compare type, policy, account, operator, time and text', async () => {
  const path = logOf([
    [
      { type: 'run.begun', policy: 'billing', account: 'production', run: 1 },
      { type: 'pause', scope: 'engine', reason: 'Deploy of "Checkout"', by: 'alice' },
      { type: 'run.finished', policy: 'billing', account: 'staging', run: 1 },
      { type: 'runner', policy: 'billing"', reason: 'policy' },
    ],
  ]);
  expect(numbers(await all(path, { type: 'run' }))).toEqual([3, 1]);
  expect(numbers(await all(path, { type: 'run.begun' }))).toEqual([1]);
  expect(numbers(await all(path, { policy: 'billing' }))).toEqual([3, 1]);
  expect(numbers(await all(path, { policy: 'billing"' }))).toEqual([4]);
  expect(numbers(await all(path, { account: 'staging' }))).toEqual([3]);
  expect(numbers(await all(path, { by: 'alice' }))).toEqual([2]);
  expect(numbers(await all(path, { by: 'ali' }))).toEqual([]);
  expect(numbers(await all(path, { text: 'deploy of "checkout"' }))).toEqual([2]);
  // Only values are searched, not names of fields.
  expect(numbers(await all(path, { text: 'policy' }))).toEqual([4]);
  expect(numbers(await all(path, { since: START + 3 * 60_000 }))).toEqual([4, 3]);
});

test('a search ends at records that are much older than its start, and not at a clock that was set back', async () => {
  const path = logOf([Array.from({ length: 50 }, () => ({ type: 'intent' }))]);
  const since = START + 30 * 60_000;
  expect(numbers(await all(path, { since, limit: 5 }))).toHaveLength(21);
  const later = await searchAudit(path, { since: START + 3 * 86_400_000, limit: 5 }, STILL);
  expect(later).toEqual({ records: [], damaged: 0 });
});

test('a write in progress is left out, and a damaged match is counted', async () => {
  const path = logOf([
    [
      { type: 'intent', policy: 'billing' },
      { type: 'intent', policy: 'billing' },
    ],
  ]);
  appendFileSync(path, '{"policy":"billing","type":"intent"}\n{"half":');
  const { records, damaged } = await searchAudit(path, { policy: 'billing', limit: 5 }, STILL);
  expect(numbers(records)).toEqual([2, 1]);
  expect(damaged).toBe(1);
});

test('a search continues after the active file became a segment', async () => {
  const path = logOf([Array.from({ length: 4 }, () => ({ type: 'intent' }))]);
  const { cursor } = await searchAudit(path, { limit: 2 }, STILL);
  renameSync(path, segmentPathOf(path, 4));
  writeFileSync(path, '');
  const next = await searchAudit(path, { limit: 5, cursor: cursor! }, STILL);
  expect(numbers(next.records)).toEqual([2, 1]);
  expect(next.cursor).toBeUndefined();
});

test('a cursor of another log or position is rejected', async () => {
  const path = logOf([[{ type: 'intent' }, { type: 'intent' }]]);
  const { cursor } = await searchAudit(path, { limit: 1 }, STILL);
  const [inode, offset] = cursor!.split('.');
  for (const wrong of ['x', '1.1', `${inode}.99999`, `${inode}.${Number(offset) - 3}`]) {
    await expect(searchAudit(path, { limit: 1, cursor: wrong }, STILL)).rejects.toThrow(AuditCursorError);
  }
});

test('a log that does not exist yet has no records', async () => {
  expect(await searchAudit(join(tempDir(), 'opsd.db.audit.jsonl'), { limit: 5 }, STILL)).toEqual({
    records: [],
    damaged: 0,
  });
});
