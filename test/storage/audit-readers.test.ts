/** Readers of the audit log, in files and in PostgreSQL: both find the same records. */
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AuditEntry, AuditHead, AuditRecord } from '#automate/ledger/audit-log.ts';
import { AuditCursorError, type AuditQuery, type AuditReader } from '#automate/ledger/audit-reading.ts';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { auditFiles, openAuditLog } from '#storage/audit-file.ts';
import { run } from '#storage/database.ts';
import { createJournal, type Journal } from '#storage/ledger-journal.ts';
import { createAuditTableReader } from '#storage/postgres/audit-table-reader.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { openStore } from '#storage/sqlite.ts';
import { SERVERS, type ServerName } from '../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../support/postgres/test-databases.ts';
import { tempDir } from '../support/temp-dir.ts';

const START = Date.UTC(2026, 10, 18, 10, 0, 0);
const STILL = new AbortController().signal;

interface World {
  readonly journal: Journal;
  readonly clock: ManualClock;
  readonly reader: AuditReader;
}

function inFiles(): Promise<World> {
  const path = join(tempDir(), 'opsd.db');
  const store = openStore(path);
  const clock = new ManualClock(START);
  const audit = openAuditLog(store, clock, 4_000);
  onTestFinished(() => {
    audit[Symbol.dispose]();
    store[Symbol.dispose]();
  });
  const reader = auditFiles(auditPathOf(path), async () => audit.head());
  return Promise.resolve({ journal: createJournal(store, audit), clock, reader });
}

async function inPostgres(server: ServerName) {
  const database = opened(await emptyDatabase(server));
  const clock = new ManualClock(START);
  const { journal } = createPostgresJournal({ database, clock, ...(await migrate(database)) });
  return { database, journal, clock, reader: createAuditTableReader(database, 'table audit') };
}

const PLACES: readonly (readonly [name: string, open: () => Promise<World>])[] = [
  ['files', inFiles],
  ...SERVERS.map((server) => [server, () => inPostgres(server)] as const),
];

/** Writes records, one each minute. */
async function write({ journal, clock }: World, entries: readonly AuditEntry[]): Promise<void> {
  for (const entry of entries) {
    await clock.advance(60_000);
    await journal.write(function* (tell) {
      yield* tell(entry);
    });
  }
}

async function found(reader: AuditReader, query: Partial<AuditQuery> = {}): Promise<readonly AuditRecord[]> {
  const records: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await reader.search({ limit: 500, ...query, ...(cursor !== undefined && { cursor }) }, STILL);
    expect(page.records.length).toBeLessThanOrEqual(query.limit ?? 500);
    records.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

const numbers = (records: readonly AuditRecord[]): number[] => records.map(({ sequence }) => sequence);

const POSITION = ['sequence', 'time', 'store', 'opening', 'previous', 'hash'];

/** What a search must find, in other words. */
function isWanted(record: AuditRecord, { type, policy, account, by, since, text }: Partial<AuditQuery>): boolean {
  const texts = Object.entries(record).flatMap(([key, value]) => {
    return POSITION.includes(key) ? [] : [typeof value === 'string' ? value : JSON.stringify(value)];
  });
  return (
    (type === undefined || `${record.type}.`.startsWith(`${type}.`)) &&
    [policy, account, by].every((one, at) => one === undefined || record[['policy', 'account', 'by'][at]!] === one) &&
    (since === undefined || Date.parse(record.time) >= since) &&
    (text === undefined || texts.some((one) => one.toLowerCase().includes(text.toLowerCase())))
  );
}

/** Letters whose lower case differs between programs, and characters that JSON escapes. */
const letter = fc.constantFrom(
  'a',
  'B',
  'i',
  'İ',
  'k',
  'K',
  'Å',
  'ß',
  'Σ',
  '"',
  '\\',
  '\n',
  '\0',
  '\uFDD0',
  '%',
  '_',
  ' ',
);
const word = fc.string({ unit: letter, minLength: 1, maxLength: 4 });
const name = fc.constantFrom('a', 'b', 'a"', "b'");

describe.each(PLACES)('%s', (_name, open) => {
  test('a search finds what it describes, newest first, each record once', async () => {
    const entry = fc.record(
      {
        type: fc.constantFrom('run', 'run.begun', 'runner', 'pause'),
        policy: name,
        account: name,
        by: name,
        reason: word,
        isDry: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    );
    const query = fc.record(
      {
        type: fc.constantFrom('run', 'run.begun', 'pause', 'none'),
        policy: name,
        account: name,
        by: name,
        since: fc.integer({ min: 0, max: 40 }).map((minutes) => START + minutes * 60_000),
        text: word,
      },
      { requiredKeys: [] },
    );
    const world = await open();
    let written: readonly AuditRecord[] = [];
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 4 }),
        fc.array(query, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 9 }),
        async (entries, queries, limit) => {
          await write(world, entries);
          written = await Array.fromAsync(world.reader.records());
          for (const one of queries) {
            const wanted = written.filter((record) => isWanted(record, one)).toReversed();
            expect(await found(world.reader, { ...one, limit })).toEqual(wanted);
          }
        },
      ),
      { numRuns: 40 },
    );
    expect(numbers(written)).toEqual(written.map((_record, at) => at + 1));
    expect((await world.reader.head())?.sequence).toBe(written.length);
  });

  test('a search continues at its cursor, whatever was written since', async () => {
    const world = await open();
    await write(
      world,
      Array.from({ length: 5 }, () => ({ type: 'pause' })),
    );
    const { records, cursor } = await world.reader.search({ limit: 2 }, STILL);
    expect(numbers(records)).toEqual([5, 4]);
    await write(world, [{ type: 'pause' }]);
    const next = await world.reader.search({ limit: 3, cursor: cursor! }, STILL);
    expect([numbers(next.records), next.cursor]).toEqual([[3, 2, 1], undefined]);
  });

  test('a cursor of another log is rejected, and an aborted search ends', async () => {
    const world = await open();
    await write(world, [{ type: 'pause' }, { type: 'pause' }]);
    for (const cursor of ['x', '99', '-1', '1.5', '7.7']) {
      await expect(world.reader.search({ limit: 1, cursor }, STILL)).rejects.toThrow(AuditCursorError);
    }
    const aborted = AbortSignal.abort(new Error('gone'));
    await expect(world.reader.search({ limit: 1 }, aborted)).rejects.toThrow('gone');
  });

  test('the chain is compared with the records that another party has seen', async () => {
    const world = await open();
    await write(world, [{ type: 'pause' }, { type: 'pause' }, { type: 'pause' }]);
    const [first, second, last] = await Array.fromAsync(world.reader.records());
    const head = ({ sequence, hash }: AuditRecord): AuditHead => ({ sequence, hash });
    expect(await world.reader.verify({ known: head(second!) })).toEqual({
      records: 3,
      isTorn: false,
      head: head(last!),
    });
    const problem = async (seen: Parameters<AuditReader['verify']>[0]) =>
      (await world.reader.verify(seen)).finding?.problem;
    expect(await problem({ known: { sequence: 2, hash: 'x' } })).toContain('record 2 differs from the known one');
    expect(await problem({ known: { sequence: 4, hash: 'x' } })).toContain('the log ends with record 3, but record 4');
    expect(await problem({ after: head(first!) })).toContain('record 1 follows record 1');
    expect(await problem({})).toBeUndefined();
  });

  test('an empty log has no records', async () => {
    const { reader } = await open();
    expect(await reader.search({ limit: 5 }, STILL)).toEqual({ records: [], damaged: 0 });
    expect([await reader.head(), await Array.fromAsync(reader.records())]).toEqual([undefined, []]);
    expect(await reader.verify()).toEqual({ records: 0, isTorn: false });
  });
});

describe.each(SERVERS)('%s', (server) => {
  test('a damaged record is counted by a search that wants it, and left out of a listing', async () => {
    const world = await inPostgres(server);
    const { database, reader } = world;
    await write(
      world,
      ['p', 'p', 'q'].map((policy) => ({ type: 'pause', policy })),
    );
    await database.transaction(run(`UPDATE audit SET record = replace(record, '"p"', '"x"') WHERE sequence = 2`));
    const { records, damaged } = await reader.search({ policy: 'p', limit: 5 }, STILL);
    expect([numbers(records), damaged]).toEqual([[1], 0]);
    expect((await reader.search({ limit: 5 }, STILL)).damaged).toBe(1);
    expect(numbers(await Array.fromAsync(reader.records()))).toEqual([1, 3]);
  });

  test('a long log is read and searched in parts', async () => {
    const world = await inPostgres(server);
    const { database, reader } = world;
    await write(world, [{ type: 'pause' }]);
    // The copies have another sequence than their line, which a search does not compare.
    const copies = `INSERT INTO audit SELECT sequence + n, at, type, account, policy, record, hash
      FROM audit, generate_series(1, 45000) AS n`;
    await database.transaction(run(copies));
    let listed = 0;
    for await (const _record of reader.records()) listed += 1;
    const pages: number[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await reader.search({ limit: 30_000, ...(cursor !== '' && { cursor }) }, STILL);
      pages.push(page.records.length);
      ({ cursor } = page);
    }
    expect(listed).toBe(45_001);
    expect(pages.reduce((sum, one) => sum + one, 0)).toBe(45_001);
    expect(pages.length).toBeGreaterThan(1);
    expect(await reader.search({ type: 'none', limit: 5 }, STILL)).toEqual({ records: [], damaged: 0 });
  });
});
