/** The brakes, over a real daemon with several hundred actions in progress. The proxy shows the sent requests. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bulkWorld } from '../support/bulk-world.ts';
import { addressOf } from '../support/daemon-world.ts';
import { type Program } from '../support/program.ts';
import { until } from '../support/until.ts';

const RUNS = 240;

test('pause, kill switch and OPSD_MODE let at most the request in progress end, and the rest continues after them', async () => {
  const world = await bulkWorld();
  await world.failRuns(RUNS);
  const { folder, road, run, command: ended } = await world.instance({ requestsPerSecond: 30 });
  const killSwitch = join(folder, 'PAUSE');
  const command = async (...args: string[]): Promise<void> => {
    const { code, stdout } = await ended(...args);
    expect(code, stdout).toBe(0);
  };
  const sent = async (count: number): Promise<void> => {
    await until({ what: `${count} are sent` }, () => road.resumes.length >= count);
  };
  /** After the brake, at most the one request that had already passed arrives, and no other follows. */
  const stands = async (daemon: Program, guard: string, before: number): Promise<void> => {
    const lines = daemon.log().length;
    await until({ what: `runs are held by ${guard}` }, () => heldBy(daemon.log().slice(lines), guard) >= 2);
    expect(road.resumes.length - before).toBeLessThanOrEqual(1);
    expect(road.resumes.length).toBeLessThan(RUNS);
  };

  const daemon = run();
  await sent(20);
  await command('pause', '--reason', 'an incident');
  await stands(daemon, 'kill_switch', road.resumes.length);
  await command('unpause', '--yes', '--reason', 'over');

  await sent(road.resumes.length + 20);
  writeFileSync(killSwitch, '');
  await stands(daemon, 'kill_switch', road.resumes.length);
  rmSync(killSwitch);

  await sent(road.resumes.length + 20);
  await daemon.stop();
  // The machine determines when the signal arrives. Outcomes of requests in progress are logged after the message of
  // the stop.
  const told = daemon.log().map(({ msg }) => msg);
  expect(told).toContain('daemon stopping');
  expect(told.slice(told.indexOf('daemon stopping')).filter((msg) => msg === 'action').length).toBeLessThanOrEqual(1);

  const looking = run({ OPSD_MODE: 'audit' });
  const before = road.resumes.length;
  await until({ what: 'runs are held by mode' }, () => heldBy(looking.log(), 'mode') >= 2);
  const policies = await (await fetch(`${await addressOf(looking)}/api/v1/policies`)).text();
  expect(policies).toContain('OPSD_MODE is audit');
  await looking.stop();
  expect(road.resumes.length).toBe(before);

  const last = run();
  await sent(RUNS);
  await until({ what: 'nothing is left' }, () => world.emulator.workflowDlq('acc-1').length === 0);
  await last.stop();
  expect(road.resumes).toHaveLength(RUNS);
  expect(new Set(road.resumes).size).toBe(RUNS);
});

function heldBy(lines: ReturnType<Program['log']>, guard: string): number {
  return lines.filter((line) => line['msg'] === 'policy run finished' && line['guard'] === guard).length;
}
