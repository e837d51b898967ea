/** A store that is moved to PostgreSQL and back is the same, and only one of the two can be used. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { moveToPostgres, moveToSqlite, type CopyWatch } from '#storage/copy/store-copy.ts';
import { returnToPostgres, returnToSqlite } from '#storage/copy/return-store.ts';
import { all, get, run, workOf } from '#storage/database.ts';
import { verifyTable } from '#storage/postgres/audit-table.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import type { PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { createLedger, openLedger } from '#storage/sqlite-ledger.ts';
import { openStore } from '#storage/sqlite.ts';
import { intentFor } from '../../support/ledger-facts.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';
import { contentOf, fill, storeContent } from '../../support/store-content.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { storeWithActions, WATCH } from './world.ts';

function newPath(): string {
  return join(tempDir(), 'new.db');
}

describe.each(SERVERS)('%s', (server) => {
  test('every value survives the way to PostgreSQL and back', async () => {
    const path = await storeWithActions();
    const counts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(storeContent(path), async (content) => {
        returnToSqlite(path);
        fill(path, content);
        const before = contentOf(path);
        const database = opened(await emptyDatabase(server));
        const there = await moveToPostgres(path, database, WATCH);
        const copy = newPath();
        const back = await moveToSqlite(database, copy, WATCH);
        expect(contentOf(copy)).toEqual(before);
        expect(back).toMatchObject({ tables: there.tables, audit: there.audit });
        for (const { table, rows } of back.tables) counts.set(table, (counts.get(table) ?? 0) + rows);
        using store = openStore(copy);
        expect(store.restored).toBe(true);
      }),
      { numRuns: 3, endOnFailure: true },
    );
    expect([...counts].filter(([, rows]) => rows === 0)).toEqual([]);
    expect(counts.size).toBeGreaterThan(30);
  });

  test('the ledger, its ids and its audit log continue', async () => {
    const path = await storeWithActions();
    using before = new DatabaseSync(path);
    const { epoch, last } = before
      .prepare(`SELECT (SELECT value FROM meta WHERE key = 'epoch') AS epoch, max(id) AS last FROM intents`)
      .get()!;
    before.close();
    const database = opened(await emptyDatabase(server));
    const { audit } = await moveToPostgres(path, database, WATCH);
    const identity = await migrate(database);
    expect(identity).toMatchObject({ epoch: Number(epoch) + 1, restored: true });
    const { journal } = createPostgresJournal({ database, clock: new ManualClock(2_000), ...identity });
    const ledger = createLedger(journal, { problem: undefined, distrust: undefined });
    expect(await intentFor(ledger, 'dlq-4')).toBe(Number(last) + 1);
    const verdict = await database.read(verifyTable());
    expect(verdict).toMatchObject({ records: audit.records + 2 });
    expect(verdict.finding).toBeUndefined();
    await expect(intentFor(ledger, 'dlq-1')).rejects.toThrow('claim: already sent as action 1');

    const copy = newPath();
    await moveToSqlite(database, copy, WATCH);
    using store = openStore(copy);
    using log = openAuditLog(store, new ManualClock(3_000));
    const again = await openLedger(store, log);
    expect(again.mustBeAdopted).toBeUndefined();
    expect(await intentFor(again, 'dlq-5')).toBe(Number(last) + 2);
    expect((await log.verify()).finding).toBeUndefined();
  });

  test('no process can use a moved store until it is returned, and adopted', async () => {
    const path = await storeWithActions();
    const database = opened(await emptyDatabase(server));
    await moveToPostgres(path, database, WATCH);
    const moved = `${path}: the store was moved to postgres:${database.place}, and this one lacks all later actions.`;
    expect(() => openStore(path)).toThrow(moved);
    await expect(moveToPostgres(path, opened(await emptyDatabase(server)), WATCH)).rejects.toThrow(moved);
    expect(returnToSqlite(path)).toBe(`postgres:${database.place}`);
    expect(returnToSqlite(path)).toBeUndefined();
    using store = openStore(path);
    using log = openAuditLog(store, new ManualClock(1_000));
    expect((await openLedger(store, log)).mustBeAdopted).toMatch(/^the store had been moved to postgres:/);

    const copy = newPath();
    await moveToSqlite(database, copy, WATCH);
    await expect(migrate(database)).rejects.toThrow(`${database.place}: the store was moved to sqlite:${copy}`);
    await expect(moveToSqlite(database, newPath(), WATCH)).rejects.toThrow('was moved to');
    expect(await returnToPostgres(database)).toBe(`sqlite:${copy}`);
    await migrate(database);
    expect(await database.read(get(`SELECT value FROM meta WHERE key = 'must_adopt'`))).toEqual({
      value: expect.stringMatching(/^the store had been moved to sqlite:/) as string,
    });
  });

  test('a process that is not known to be gone can commit nothing after the move', async () => {
    const url = await emptyDatabase(server);
    const database = opened(url, { epochOf: () => 1 });
    const identity = await migrate(database);
    await database.transaction(run(`INSERT INTO leases (account, owner, epoch) VALUES ('production', 'gone', 1)`));
    const write = () => database.transaction(run(`DELETE FROM counters`), 'production');
    const { journal } = createPostgresJournal({ database, clock: new ManualClock(1_000), ...identity });
    const ledger = createLedger(journal, { problem: undefined, distrust: undefined });
    const pause = () => ledger.pause({ scope: 'engine', reason: 'maintenance', at: 1_000, by: 'operator' });
    await write();
    await pause();
    const copy = newPath();
    await moveToSqlite(opened(url), copy, WATCH);
    await expect(write()).rejects.toThrow(LeaseLostError);
    await expect(pause()).rejects.toThrow(`storage.postgres: the store was moved to sqlite:${copy}`);
  });

  test('a failed commit leaves the source as it was, and the destination empty', async () => {
    const path = await storeWithActions();
    const before = contentOf(path);
    const database = opened(await emptyDatabase(server));
    const full: PostgresDatabase = {
      ...database,
      transaction: (work) =>
        database.transaction(function* () {
          yield* workOf(work);
          throw new Error('no space left on device');
        }),
    };
    await expect(moveToPostgres(path, full, WATCH)).rejects.toThrow('no space left');
    expect(await database.read(all('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()'))).toEqual([]);
    expect(contentOf(path)).toEqual(before);
    await moveToPostgres(path, database, WATCH);
    const copy = newPath();
    await expect(moveToSqlite(full, copy, WATCH)).rejects.toThrow('no space left');
    await moveToSqlite(database, copy, WATCH);
    expect(contentOf(copy)).toEqual(before);
  });

  test('a copy that differs from its source is refused', async () => {
    const path = await storeWithActions();
    const database = opened(await emptyDatabase(server));
    await migrate(database);
    await database.transaction(
      run(`CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.items := 7; RETURN NEW; END';
        CREATE TRIGGER other BEFORE INSERT ON intents FOR EACH ROW EXECUTE FUNCTION other()`),
    );
    await expect(moveToPostgres(path, database, WATCH)).rejects.toThrow('the copy is wrong: intents has other values');
    using store = openStore(path);
    expect(store.problem).toBeUndefined();
  });

  test('the copy ends with the command', async () => {
    const path = await storeWithActions();
    const stop = new AbortController();
    const database = opened(await emptyDatabase(server));
    const watch: CopyWatch = {
      signal: stop.signal,
      onProgress: (step, table) => void (step === 'verify' && table === 'intents' && stop.abort(new Error('stopped'))),
    };
    await expect(moveToPostgres(path, database, watch)).rejects.toThrow('stopped');
    await moveToPostgres(path, database, WATCH);
  });
});
