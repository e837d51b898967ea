/**
 * Folders that a service cannot use: the error names the file, the reason and the fix, and the content stays unchanged.
 */
import { chmodSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { start } from '../../../test/support/program.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { ACCOUNT, allLogs, world } from '../world.ts';

const kept = (dataFolder: string, options: Parameters<typeof world>[0] = {}) => world({ dataFolder, ...options });

/** Executes statements on a file, which is created if it does not exist. */
const edited = (sql: string) => (path: string) => {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
};

describe('rejected with the reason', () => {
  test('a folder that another service uses', async () => {
    const folder = tempDir();
    await kept(folder);
    await expect(kept(folder)).rejects.toThrow(/emulator\.db is used by another process/);
  });

  test('accounts that are not given', async () => {
    const folder = tempDir();
    const first = await kept(folder);
    await first.call('GET', '/v2/topics');
    await first.emulator.stop();
    await expect(kept(folder, { accounts: [{ id: 'other', token: 'x' }] })).rejects.toThrow(
      `holds the account ${ACCOUNT}`,
    );
    // The rejected start released the folder.
    await kept(folder);
  });

  test.each([
    ['another schema', 'PRAGMA user_version = 9', /has schema 9, but this program requires schema 2/],
    [
      'a database of another program',
      'CREATE TABLE theirs (a)',
      /was made by another program.*The file was not changed/,
    ],
  ])('%s, which is left unchanged', async (_what, sql, reason) => {
    const folder = tempDir();
    const path = join(folder, 'emulator.db');
    edited(sql)(path);
    const before = readFileSync(path);
    await expect(kept(folder)).rejects.toThrow(reason);
    expect(readFileSync(path)).toEqual(before);
  });

  test('a file that is not a store', async () => {
    const folder = join(tempDir(), 'data');
    mkdirSync(folder);
    writeFileSync(join(folder, 'emulator.db'), 'x'.repeat(5_000));
    await expect(kept(folder)).rejects.toThrow(/cannot be used/);
  });

  test('time that can be moved', async () => {
    await expect(kept(tempDir(), { time: 'virtual' })).rejects.toThrow(/cannot use a data folder/);
  });
});

describe('a damaged file', () => {
  async function filled(): Promise<{ readonly folder: string; readonly path: string }> {
    const folder = tempDir();
    const sink = await httpSink();
    const service = await kept(folder);
    for (let index = 0; index < 60; index++) {
      await service.call('POST', `/v2/publish/${sink.url}/`, { body: `${index} ${'x'.repeat(400)}` });
    }
    await service.drain();
    await service.emulator.stop();
    return { folder, path: join(folder, 'emulator.db') };
  }

  const damages: Readonly<Record<string, (path: string) => void>> = {
    'that ends in its middle': (path) => truncateSync(path, Math.floor(readFileSync(path).length / 8_192) * 4_096),
    'that ends within its first page': (path) => truncateSync(path, 1_000),
    'with zeros in its middle': (path) => {
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(0, 8_192, bytes.length - 8_192));
    },
    'with a message that cannot be read': edited(`UPDATE message SET fixed = '{"id":'`),
    'without a message that entries tell of': edited('DELETE FROM message'),
    'without a table': edited('DROP TABLE entry'),
    'with a document that is not one': edited(`UPDATE item SET value = '[' WHERE key = 'began'`),
  };

  test.each(Object.entries(damages))('%s', async (_name, damage) => {
    const { folder, path } = await filled();
    damage(path);
    const before = readFileSync(path);
    const refused = await kept(folder).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      name: 'DataFolderError',
      message: expect.stringMatching(/emulator\.db cannot be (read|used) \(.+another folder/s),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('a restored copy is complete', async () => {
    const { folder, path } = await filled();
    const copy = readFileSync(path);
    truncateSync(path, 9_000);
    await expect(kept(folder)).rejects.toThrow(/emulator\.db/);
    writeFileSync(path, copy);
    expect(await allLogs(await kept(folder), 'state=DELIVERED')).toHaveLength(60);
  });
});

describe('a folder that cannot be written, reported by the program', () => {
  /** Root keeps its user, which can read the sources anywhere, and loses the right to ignore permissions. */
  const withPermissions = (folder: string) => {
    const main = join(import.meta.dirname, '../../../src/opsd.js');
    const args = [main, 'emulator', '--listen', '127.0.0.1:0', '--data', folder];
    if (process.getuid!() !== 0) return start(process.execPath, args);
    return start('setpriv', ['--bounding-set=-dac_override', process.execPath, ...args]);
  };

  test.each([
    ['a folder', (folder: string) => chmodSync(folder, 0o555)],
    [
      'a file',
      (folder: string) => {
        writeFileSync(join(folder, 'emulator.db'), '');
        chmodSync(join(folder, 'emulator.db'), 0o444);
        chmodSync(folder, 0o555);
      },
    ],
    ['a file in the place of the folder', (folder: string) => writeFileSync(join(folder, 'data'), '')],
  ])('%s', async (name, forbid) => {
    const folder = tempDir();
    forbid(folder);
    const program = withPermissions(name.includes('place') ? join(folder, 'data') : folder);
    expect((await program.ended).code).toBe(1);
    expect(program.stderr()).toMatch(/emulator\.db cannot be used \(.+\)\. The folder must be writable/);
    expect(program.stdout()).toBe('');
    chmodSync(folder, 0o755);
  });
});
