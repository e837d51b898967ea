/** The audit log of PostgreSQL: it commits with the changes, in one chain of all replicas. */
import { describe, expect, test } from 'vitest';
import type { AuditVerdict } from '#automate/ledger/audit-log.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { all, get, run, type Database } from '#storage/database.ts';
import { migrate } from '#storage/postgres/migrate.ts';
import { createLedger } from '#storage/sqlite-ledger.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../../support/postgres/test-databases.ts';

async function replicas(url: string) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const open = async () => {
    const database = opened(url);
    return { database, ...createPostgresJournal({ database, clock, ...(await migrate(database)) }) };
  };
  return [await open(), await open()] as const;
}

type Replica = Awaited<ReturnType<typeof replicas>>[0];

/** Adds the number of lines as a line, which is exact only if no other change comes between. */
const addLine = ({ journal }: Replica) =>
  journal.write(function* (tell) {
    const row = yield* get('SELECT count(*) AS n FROM delivery_lines');
    yield* run('INSERT INTO delivery_lines (line) VALUES (?)', String(row?.['n']));
    yield* tell({ type: 'line.added', account: 'production', line: Number(row?.['n']) });
  });

const lines = async (database: Database): Promise<readonly unknown[]> =>
  (await database.read(all('SELECT line FROM delivery_lines ORDER BY id'))).map(({ line }) => Number(line));

describe.each(SERVERS)('%s', (server) => {
  test('changes of all replicas are one sequence, and one chain', async () => {
    const [one, other] = await replicas(await emptyDatabase(server));
    await Promise.all(Array.from({ length: 20 }, (_, n) => addLine(n % 2 === 0 ? one : other)));
    expect(await lines(one.database)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    const verdict = await other.audit.verify();
    expect(verdict).toMatchObject({ records: 20, isTorn: false, head: { sequence: 20 } });
    expect(verdict.finding).toBeUndefined();
    const [last] = await one.database.read(all('SELECT * FROM audit ORDER BY sequence DESC LIMIT 1'));
    expect(last).toMatchObject({ at: Date.UTC(2026, 0, 1), type: 'line.added', account: 'production', policy: null });
    const record: unknown = JSON.parse(String(last?.['record']));
    expect(record).toMatchObject({ sequence: 20, line: 19, store: one.journal.instance });
    expect(one.journal.epoch).not.toBe(other.journal.epoch);
  });

  test('a change without a commit has no record', async () => {
    const [one, other] = await replicas(await emptyDatabase(server));
    await addLine(one);
    const failed = one.journal.write(function* (tell) {
      yield* run(`INSERT INTO delivery_lines (line) VALUES ('x')`);
      yield* tell({ type: 'line.added' });
      throw new Error('stop');
    });
    await expect(failed).rejects.toThrow('stop');
    await addLine(other);
    expect(await lines(one.database)).toEqual([0, 1]);
    expect(await one.audit.verify()).toMatchObject({ records: 2 });
    expect(other.audit.head()?.sequence).toBe(2);
    expect(one.audit.head()?.sequence).toBe(1);
  });

  test('a change has at most one record', async () => {
    const [one] = await replicas(await emptyDatabase(server));
    const twice = one.journal.write(function* (tell) {
      yield* tell({ type: 'line.added' });
      yield* tell({ type: 'line.added' });
    });
    await expect(twice).rejects.toThrow('exactly one audit record');
    expect(await one.audit.verify()).toEqual({ records: 0, isTorn: false });
  });

  test.each<[string, string, AuditVerdict['finding']]>([
    [
      'a changed record',
      `UPDATE audit SET record = replace(record, '"line":1', '"line":7') WHERE sequence = 2`,
      { file: 'table audit', line: 2, problem: 'record 2 was changed: its hash does not match its content' },
    ],
    [
      'a changed column',
      `UPDATE audit SET account = 'staging' WHERE sequence = 3`,
      { file: 'table audit', line: 3, problem: 'column account of record 3 was changed' },
    ],
    [
      'a missing record',
      'DELETE FROM audit WHERE sequence = 2',
      { file: 'table audit', line: 2, problem: 'record 3 follows record 1: the records between them are missing' },
    ],
    [
      'missing records at the end',
      'DELETE FROM audit WHERE sequence > 1',
      { file: 'table audit', line: 2, problem: 'the log ends with record 1, but the store has 3' },
    ],
  ])('%s is found', async (_what, change, finding) => {
    const [one] = await replicas(await emptyDatabase(server));
    for (let n = 0; n < 3; n += 1) await addLine(one);
    await one.database.transaction(run(change));
    expect((await one.audit.verify()).finding).toEqual(finding);
  });

  test('a database that lost commits is not changed', async () => {
    const url = await emptyDatabase(server);
    const [one, other] = await replicas(url);
    await addLine(one);
    const before = await one.database.read(get(`SELECT value FROM meta WHERE key = 'audit_head'`));
    await addLine(one);
    // As after the promotion of a standby that did not get the last commit.
    await other.database.transaction(run('DELETE FROM audit WHERE sequence = 2'));
    await other.database.transaction(run(`UPDATE meta SET value = ? WHERE key = 'audit_head'`, before!['value']!));
    await expect(addLine(one)).rejects.toThrow('its audit log ends with record 1, but this process has seen 2');
    await addLine(other);
    await addLine(other);
    await expect(addLine(one)).rejects.toThrow('the database lost changes');
    expect(one.journal.problem()).toContain('the database lost changes');
    // Nobody else can know it.
    const [later] = await replicas(url);
    const ledger = createLedger(later.journal, {});
    expect(await ledger.leaseLost()).toBeUndefined();
    expect(ledger.mustBeAdopted).toContain('this process has seen 2');
    expect((await later.audit.verify()).finding).toBeUndefined();
  });
});
