/** Two independent daemons, and one that has lost its store: the stamps of runs identify them. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bulkWorld, type BulkWorld, type Instance } from '../support/bulk-world.ts';
import { type Program } from '../support/program.ts';
import { until } from '../support/until.ts';

const AUDIT = 'opsd.db.audit.jsonl';

/** Prepares a daemon with its own store on the same account. */
const instance = (world: BulkWorld): Promise<Instance> =>
  world.instance({ limits: { attempts: { max: 2, backoff: ['1s'] } } });

/** Resumes runs of the world that fail again at once, and waits until they are back with their stamps. */
async function resumeInVain(world: BulkWorld, one: Instance, count: number): Promise<Program> {
  world.destination.answerWith((_request, response) => void response.writeHead(503).end());
  await world.failRuns(count);
  const daemon = one.run();
  await until({ what: 'all were resumed, and are back' }, () => stamped(world).length === count);
  return daemon;
}

function stamped(world: BulkWorld): readonly string[] {
  const runs = world.emulator.workflowDlq('acc-1');
  return runs.flatMap(({ labels }) => labels.filter((label) => label.startsWith('opsd:')));
}

function runsOf(daemon: Program): number {
  return daemon.said('policy run finished').length;
}

async function plan(one: Instance): Promise<{
  readonly effectiveMode: string;
  readonly chosen: readonly unknown[];
  readonly skipped: readonly { readonly guard: string; readonly reason: string; readonly count: number }[];
}> {
  const { stdout } = await one.command('plan', 'resume-billing', '-o', 'json');
  return (JSON.parse(stdout) as { plans: [never] }).plans[0];
}

test('a second instance does not touch runs that another one repairs, and names their owner', async () => {
  const world = await bulkWorld();
  const first = await instance(world);
  const second = await instance(world);
  const daemon = await resumeInVain(world, first, 3);
  const [, who] = stamped(world)[0]!.split(':');
  const other = second.run();
  await until({ what: 'the second instance has looked' }, () => runsOf(other) >= 3);
  expect(await plan(second)).toMatchObject({
    chosen: [],
    skipped: [{ guard: 'other_instance', reason: `stamped by instance ${who}` }],
  });
  expect(second.road.resumes).toEqual([]);
  // Any instance may act on a run without a stamp.
  await daemon.stop();
  await world.failRuns(1);
  await until({ what: 'a new one is resumed' }, () => second.road.resumes.length === 1);
});

test.each([
  ['while its audit log is kept', false],
  ['and its audit log with it', true],
])('a store that is lost %s resumes nothing beyond its attempts', async (_how, withAudit) => {
  const world = await bulkWorld();
  const one = await instance(world);
  const daemon = await resumeInVain(world, one, 3);
  await daemon.crash();
  await world.emulator.idle();
  const before = one.road.resumes.length;
  const stamps = stamped(world);
  for (const file of readdirSync(one.folder).filter((name) => name.startsWith('opsd.db'))) {
    if (withAudit || file !== AUDIT) rmSync(join(one.folder, file), { recursive: true });
  }
  await world.failRuns(2);

  const again = one.run();
  await until({ what: 'it has looked' }, () => runsOf(again) >= 2);
  const left = { guard: 'other_instance', reason: `stamped by instance ${stamps[0]!.split(':')[1]}`, count: 3 };
  if (!withAudit) {
    // The audit log has actions that this store lacks: an operator has to adopt the store first.
    expect(await plan(one)).toMatchObject({ effectiveMode: 'audit', skipped: [left] });
    expect(one.road.resumes).toHaveLength(before);
    const adopted = await one.command('state', 'adopt', '--reason', 'the disk was lost');
    expect(adopted.code, adopted.stdout).toBe(0);
  }
  await until({ what: 'the new ones are resumed' }, () => one.road.resumes.length === before + 2);
  const runs = runsOf(again);
  await until({ what: 'it has looked again' }, () => runsOf(again) >= runs + 2);
  expect((await plan(one)).skipped).toContainEqual(expect.objectContaining(left));
  // Each lineage has the attempts of its stamp.
  expect(one.road.resumes.slice(before)).toHaveLength(2);
  expect(stamped(world)).toEqual(expect.arrayContaining([...stamps]));
  await again.stop();
});
