/** Ends of the daemon: on request, during reads and during actions; and after a kill, with its recovery. */
import { expect, test } from 'vitest';
import { addressOf, daemonWorld, isResume, repairConfig, type DaemonWorld } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { failedRuns, logsUntil } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Returns the number of runs that a resume created, by their stamp. */
async function resumedRuns(world: DaemonWorld): Promise<number> {
  const rows = await logsUntil(world.service, Date.now());
  const stamped = rows.filter((row) => row.labels?.some((label) => label.startsWith('opsd:')));
  return new Set(stamped.map((row) => row.messageId)).size;
}

test('SIGTERM while a read hangs ends the daemon cleanly', async () => {
  const world = await daemonWorld();
  const never = Promise.withResolvers<void>();
  world.proxy.decide((request) => (request.url.startsWith('/v2/logs') ? never.promise : 'pass'));
  const daemon = world.run(repairConfig(world, { mode: 'audit', every: '1m' }));
  await until({ what: 'a read hangs' }, () => world.proxy.passed.some((request) => request.url.startsWith('/v2/logs')));
  await daemon.stop();
  expect(daemon.log().at(-1)).toMatchObject({ msg: 'daemon stopped' });
  never.resolve();
});

test('SIGTERM while a policy acts finishes the request in progress, writes its outcome and leaves the rest', async () => {
  const world = await daemonWorld();
  await world.failRuns(5, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  const held = Promise.withResolvers<void>();
  world.proxy.decide((request) => (isResume(request) && world.resumes().length === 2 ? held.promise : 'pass'));
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const daemon = world.run(config);
  await until({ what: 'the second resume is under way' }, () => world.resumes().length === 2);
  daemon.kill('SIGTERM');
  await daemon.logged('daemon stopping');
  held.resolve();
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
  expect(world.resumes()).toHaveLength(2);
  expect(daemon.said('action').map((line) => line['outcome'])).toEqual(['accepted', 'accepted']);

  // The rest is applied after a restart, and nothing a second time.
  world.proxy.decide(() => 'pass');
  const again = world.run(config);
  await until({ what: 'the rest is resumed' }, () => world.resumes().length === 5);
  const url = await addressOf(again);
  await until({ what: 'three more are counted' }, async () => (await scrape(url)).sum('opsd_action_items_total') === 3);
  expect(new Set(world.resumes()).size).toBe(5);
  expect(await resumedRuns(world)).toBe(5);
  await again.stop();
});

test.each([
  ['before the service has answered', 1],
  ['after some were done', 3],
])('kill -9 %s, and a restart continues without a second resume of the same entry', async (_when, held) => {
  const world = await daemonWorld();
  await world.failRuns(5, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  const never = Promise.withResolvers<void>();
  world.proxy.decide((request) => (isResume(request) && world.resumes().length === held ? never.promise : 'pass'));
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const daemon = world.run(config);
  await until({ what: 'an answer is held' }, () => world.resumes().length === held);
  await daemon.crash();

  world.proxy.decide(() => 'pass');
  const { daemon: again, url } = await world.start(config);
  expect(
    await again.logged('actions of an earlier process have unknown outcomes, resolving them by reading'),
  ).toMatchObject({
    unknown: 1,
  });
  await until({ what: 'the rest is resumed' }, () => world.resumes().length === 5);
  await until({ what: 'the daemon has looked again and found nothing' }, async () => {
    const metrics = await scrape(url);
    return metrics.sum('opsd_policy_runs_total', { outcome: 'nothing_to_do' }) >= 2;
  });
  expect(new Set(world.resumes()).size).toBe(5);
  expect(await resumedRuns(world)).toBe(5);
  expect(await failedRuns(world.service)).toEqual([]);
});

test('a request with a lost response is not repeated; reading shows its outcome', async () => {
  const world = await daemonWorld();
  await world.failRuns(2, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  world.proxy.decide((request) => (isResume(request) && world.resumes().length === 1 ? 'lose' : 'pass'));
  const { daemon, url } = await world.start(repairConfig(world, { mode: 'enforce', every: '1s' }));
  await until({ what: 'both were sent' }, () => world.resumes().length === 2);
  await until(
    { what: 'later runs found nothing to do' },
    async () => (await scrape(url)).sum('opsd_policy_runs_total', { outcome: 'nothing_to_do' }) >= 2,
  );
  expect(new Set(world.resumes()).size).toBe(2);
  expect(await resumedRuns(world)).toBe(2);
  const outcomes = daemon.said('action').map((line) => line['outcome']);
  expect(outcomes).toContain('unknown');
});

test('kill -9 and a restart within a day do not restart the daily quota of requests', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'audit', every: '1m' }).replace(
    'requestsPerSecond: 100',
    'requestsPerSecond: 100, requestsPerDay: 12',
  );
  const isUsedUp = async (url: string): Promise<boolean> =>
    (await scrape(url)).sum('opsd_collector_runs_skipped_total', { reason: 'quota' }) > 0;
  const daemon = world.run(config);
  await until({ what: 'some of it is used' }, () => world.proxy.passed.length >= 6);
  await daemon.crash();
  const { daemon: again, url } = await world.start(config);
  await until({ what: 'it is used up' }, () => isUsedUp(url));
  expect((await scrape(url)).value('opsd_api_quota_used_requests', { api: 'message' })).toBe(12);
  expect(world.proxy.passed.length).toBeLessThanOrEqual(12);
  await again.stop();
});

test('the daemon starts, serves and ends while the service is unavailable, and reports it', async () => {
  const world = await daemonWorld();
  const nowhere = { proxy: { ...world.proxy, url: 'http://127.0.0.1:9' } };
  const { daemon, url } = await world.start(repairConfig(nowhere, { mode: 'enforce', every: '1s' }));
  const metrics = await until({ what: 'failures are counted' }, async () => {
    const exposition = await scrape(url);
    return exposition.sum('opsd_collector_failures_total', { reason: 'connection' }) > 0 && exposition;
  });
  expect(metrics.value('msgsvc_up', { api: 'message' })).toBe(0);
  expect(metrics.all('msgsvc_workflow_dlq_runs')).toEqual([]);
  expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
  await daemon.stop();
});

test('the reader of the log may disconnect: the daemon continues, and ends cleanly', async () => {
  const world = await daemonWorld();
  const { daemon, url } = await world.start(repairConfig(world, { mode: 'audit', every: '1m' }));
  await until({ what: 'it is ready' }, async () => (await fetch(`${url}/-/ready`)).status === 200);
  daemon.child.stderr!.destroy();
  // The first one is a warning in the log.
  world.proxy.decide(() => 'lose');
  await until({ what: 'reads fail' }, async () => (await scrape(url)).sum('opsd_collector_failures_total') > 3);
  await expect(daemon.stop()).resolves.toBeUndefined();
});
