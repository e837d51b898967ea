/** A daemon that moves from SQLite to PostgreSQL and back: counters, actions and the audit log continue. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { emptyDatabase } from '../support/postgres/test-databases.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { opsd, type Program } from '../support/program.ts';
import { until } from '../support/until.ts';

const RUNS = 3;

interface Status {
  readonly verdict: unknown;
  readonly conditions: readonly { readonly key: string; readonly detail: string }[];
}

interface Actions {
  readonly actions: readonly { readonly target: string; readonly outcome: string }[];
}

async function actionsOn(address: string): Promise<readonly string[]> {
  const { actions } = (await (await fetch(`${address}/api/v1/actions`)).json()) as Actions;
  return actions.map(({ target }) => target).toSorted();
}

/** Returns the counters of the account's messages. */
async function countersOn(address: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const samples = [...text.matchAll(/^(msgsvc_\w+_total\{\S*?account="production"\S*\}) (\d+)$/gm)];
  return new Map(samples.map(([, series, value]) => [series!, Number(value)]));
}

async function stopped(program: Program): Promise<void> {
  program.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
}

async function done(args: readonly string[]): Promise<string> {
  const program = opsd(args);
  expect(await program.ended, program.stderr()).toMatchObject({ code: 0 });
  return program.stdout();
}

test('counters, actions and the audit log continue on the other database, and the old store stays unused', async () => {
  const world = await daemonWorld();
  const url = await emptyDatabase(SERVERS.at(-1)!);
  const urlFile = join(world.folder, 'url');
  writeFileSync(urlFile, url, { mode: 0o600 });
  const local = repairConfig(world, { mode: 'enforce', every: '1s' });
  const shared = local.replace(/sqlite: .*\}/, `postgres: { urlFile: ${JSON.stringify(urlFile)}, leaseFor: 2s } }`);
  const path = join(world.folder, 'opsd.db');
  const copy = join(world.folder, 'new.db');
  await world.failRuns(RUNS, 'billing');

  const before = world.run(local);
  const address = await addressOf(before);
  const targets = await until({ what: 'the policy has acted, and the counters have it' }, async () => {
    const found = await actionsOn(address);
    return found.length > 0 && (await countersOn(address)).size > 0 && found;
  });
  const counters = await countersOn(address);
  await stopped(before);
  const moved = await done(['state', 'copy', '--from', `sqlite:${path}`, '--to', `postgres:${urlFile}`, '-o', 'json']);
  const { audit } = JSON.parse(moved) as { audit: { records: number } };

  const refused = world.run(local);
  expect(await refused.ended).toMatchObject({ code: 1 });
  expect(refused.stderr()).toContain('the store was moved to postgres:');

  const after = world.run(shared);
  const next = await addressOf(after);
  const continued = await until({ what: 'the new daemon exposes the account' }, async () => {
    const found = await countersOn(next);
    return found.size > 0 && found;
  });
  for (const [series, value] of counters) expect(continued.get(series), series).toBeGreaterThanOrEqual(value);
  expect(await actionsOn(next)).toEqual(expect.arrayContaining([...targets]));
  const config = ['--config', join(world.folder, 'opsd.yaml')];
  expect(await done(['audit', 'verify', ...config])).toMatch(/ is intact: /);
  const lines = (await done(['audit', ...config, '-o', 'jsonl'])).trimEnd().split('\n');
  const records = lines.map((line) => JSON.parse(line) as { type: string; target?: string });
  expect(records.length).toBeGreaterThan(audit.records);
  const intents = records.filter(({ type }) => type === 'intent').map(({ target }) => target);
  expect(intents).toEqual([...new Set(intents)]);

  // A machine that sleeps: the daemon is not stopped, and its lease ends.
  after.kill('SIGSTOP');
  await until({ what: 'the lease to end, and the store to move' }, async () => {
    const program = opsd(['state', 'copy', '--from', `postgres:${urlFile}`, '--to', `sqlite:${copy}`]);
    const { code } = await program.ended;
    return code === 0 || program.stderr().includes('is in use by') ? code === 0 : Promise.reject(program.stderr());
  });
  after.kill('SIGCONT');
  const moveOf = `storage.postgres: the store was moved to sqlite:${copy}`;
  await until({ what: 'the daemon to notice the move' }, () => after.stderr().includes(moveOf));
  const { verdict, conditions } = await until({ what: 'the status to have it' }, async () => {
    const status = (await (await fetch(`${next}/api/v1/status`)).json()) as Status;
    return status.conditions.some(({ key }) => key === 'store') && status;
  });
  expect(JSON.stringify(verdict)).toContain(moveOf);
  expect(conditions).toContainEqual(
    expect.objectContaining({ key: 'store', detail: expect.stringContaining(moveOf) as string }),
  );
  expect([...(await countersOn(next)).keys()]).toEqual([]);
  const paused = opsd(['pause', '--reason', 'test', ...config]);
  expect((await paused.ended).code).not.toBe(0);
  expect(paused.stderr()).toContain('so engine is paused only on this replica');
  await stopped(after);

  const back = world.run(local.replace('path: opsd.db', 'path: new.db'));
  expect(await actionsOn(await addressOf(back))).toEqual(expect.arrayContaining([...targets]));
  await stopped(back);
  expect(await done(['audit', 'verify', ...config])).toMatch(/new\.db\.audit\.jsonl is intact: /);
});
