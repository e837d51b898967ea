/** A copy that is killed leaves two stores of which at most one can be used. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { moveToPostgres, moveToSqlite } from '#storage/copy/store-copy.ts';
import { returnToPostgres, returnToSqlite } from '#storage/copy/return-store.ts';
import { all } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { openStore } from '#storage/sqlite.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { dying } from '../programs/dying.ts';
import { storeWithActions, WATCH } from './world.ts';

const server = SERVERS.at(-1)!;

function isUsable(path: string): boolean {
  try {
    openStore(path)[Symbol.dispose]();
    return true;
  } catch (error) {
    expect(String(error)).toContain('the store was moved to');
    return false;
  }
}

describe('to PostgreSQL', () => {
  test.each([
    ['copy', { isSource: true, isDestination: false }],
    ['verify', { isSource: true, isDestination: false }],
    ['before-commit', { isSource: false, isDestination: false }],
    ['after-commit', { isSource: false, isDestination: true }],
  ])('killed at the moment: %s', async (moment, expected) => {
    const path = await storeWithActions();
    const url = await emptyDatabase(server);
    await dying('copy-and-die', 'to-postgres', path, url, moment);
    const database = opened(url);
    const tables = await database.read(all('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()'));
    expect({ isSource: isUsable(path), isDestination: tables.length > 0 }).toEqual(expected);
    if (expected.isDestination) {
      expect((await migrate(database)).restored).toBe(true);
      return;
    }
    expect(returnToSqlite(path) !== undefined).toBe(!expected.isSource);
    expect(isUsable(path)).toBe(true);
    // An opened store has no record of it without its audit log, so the chain still ends at the same place.
    await moveToPostgres(path, database, WATCH);
  });
});

describe('to SQLite', () => {
  test.each([
    ['copy', { isSource: true }],
    ['verify', { isSource: true }],
    ['before-commit', { isSource: true }],
    ['after-commit', { isSource: false }],
  ])('killed at the moment: %s', async (moment, expected) => {
    const url = await emptyDatabase(server);
    const database = opened(url);
    await moveToPostgres(await storeWithActions(), database, WATCH);
    const path = join(tempDir(), 'new.db');
    await dying('copy-and-die', 'to-sqlite', path, url, moment);
    expect(existsSync(path)).toBe(false);
    expect((await returnToPostgres(database)) === undefined).toBe(expected.isSource);
    await moveToSqlite(database, path, WATCH);
    expect(existsSync(`${path}.copying`)).toBe(false);
    expect(isUsable(path)).toBe(true);
  });
});
