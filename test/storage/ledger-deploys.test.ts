/** Deploys are recorded once, bounded, and known as roll-backs. */
import { describe, expect, test } from 'vitest';
import { put } from '#storage/database.ts';
import { createDeploys } from '#storage/ledger-deploys.ts';
import { STORES } from '../support/postgres/test-stores.ts';

const API = 'https://a.example/api/';
const GIVEN = { account: 'production', of: [API], version: 'v1', at: 10, failed: false, by: 'anna' };

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  test('a roll-back is a failed deploy, or a version that another one replaced for one of its parts', async () => {
    const deploys = createDeploys((await open()).journal);
    const record = async (at: number, version: string, more: object = {}) =>
      (await deploys.recordDeploy({ ...GIVEN, at, version, ...more }, [])).deploy.isRollback;
    expect(await record(10, 'v1')).toBe(false);
    expect(await record(20, 'v2', { of: [API, 'b.example'] })).toBe(false);
    expect(await record(30, 'v2', { of: [API, 'b.example'] })).toBe(false);
    expect(await record(40, 'v1', { of: ['b.example'] })).toBe(false);
    expect(await record(50, 'v1', { account: 'staging' })).toBe(false);
    expect(await record(60, 'v1')).toBe(true);
    expect(await record(70, 'v3', { failed: true })).toBe(true);
    // Reported late: until then only v1 was deployed.
    expect(await record(15, 'v1')).toBe(false);
    expect((await deploys.deploys(['production'], 0)).map(({ at }) => at)).toEqual([70, 60, 40, 30, 20, 15, 10]);
  });

  test('an account keeps its newest thousand', async () => {
    const { journal, database } = await open();
    const deploys = createDeploys(journal);
    await deploys.recordDeploy({ ...GIVEN, account: 'staging' }, []);
    const sql = 'INSERT INTO deploys (account, parts, version, at, is_rollback) VALUES (?, ?, ?, ?, ?)';
    const rows = Array.from({ length: 1_000 }, (_, index) => ['production', '[]', 'v', index + 1, 0]);
    await database.transaction(put(sql, rows));
    await deploys.recordDeploy({ ...GIVEN, at: 2_000 }, []);
    const kept = await database.read(function* () {
      return (yield { sql: 'SELECT account, at FROM deploys ORDER BY at', rows: [[]] }).rows;
    });
    expect(kept.filter(({ account }) => account === 'production').map(({ at }) => at)).toEqual([
      ...Array.from({ length: 999 }, (_, index) => index + 2),
      2_000,
    ]);
    expect(kept.filter(({ account }) => account === 'staging')).toHaveLength(1);
    // One account does not displace another from a reading.
    const read = await deploys.deploys(['production', 'staging'], 0);
    expect(Object.groupBy(read, ({ account }) => account)).toMatchObject({ staging: [{ at: 10 }] });
    expect(read).toHaveLength(201);
  });
});
