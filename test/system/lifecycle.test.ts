/** Ends of the daemon: on request, during reads and during actions; and after a kill, with its recovery. */
import { expect, test } from 'vitest';
import { addressOf, daemonWorld, repairConfig, type DaemonWorld } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import type { Passed } from '../support/fault-proxy.ts';
import { failedRuns, logsUntil } from '../support/service.ts';
import { until } from '../support/until.ts';

const isResume = (request: Passed): boolean =>
  request.method === 'POST' && request.url.startsWith('/v2/workflows/dlq/resume');

/** Returns the dlqIds of resume requests, in order. */
function resumes(world: DaemonWorld): string[] {
  return world.proxy.passed
    .filter(isResume)
    .map((request) => new URL(request.url, 'http://service').searchParams.getAll('dlqIds').join());
}

/** Returns the number of runs that a resume created, by their stamp. */
async function resumedRuns(world: DaemonWorld): Promise<number> {
  const rows = await logsUntil(world.service, Date.now());
  const stamped = rows.filter((row) => row.labels?.some((label) => label.startsWith('opsd:')));
  return new Set(stamped.map((row) => row.messageId)).size;
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

test('SIGTERM while a read hangs ends the daemon cleanly', async () => {
  const world = await daemonWorld();
  const never = gate();
  world.proxy.decide((request) => (request.url.startsWith('/v2/logs') ? never.opened : 'pass'));
  const daemon = world.run(repairConfig(world, { mode: 'audit', every: '1m' }));
  await until({ what: 'a read hangs' }, () => world.proxy.passed.some((request) => request.url.startsWith('/v2/logs')));
  daemon.kill('SIGTERM');
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
  expect(daemon.log().at(-1)).toMatchObject({ msg: 'daemon stopped' });
  never.open();
});

test('SIGTERM while a policy acts finishes the request in progress, writes its outcome and leaves the rest', async () => {
  const world = await daemonWorld();
  await world.failRuns(5, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  const held = gate();
  world.proxy.decide((request) => (isResume(request) && resumes(world).length === 2 ? held.opened : 'pass'));
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const daemon = world.run(config);
  await until({ what: 'the second resume is under way' }, () => resumes(world).length === 2);
  daemon.kill('SIGTERM');
  await daemon.logged('daemon stopping');
  held.open();
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
  expect(resumes(world)).toHaveLength(2);
  expect(
    daemon
      .log()
      .filter((line) => line['msg'] === 'action')
      .map((line) => line['outcome']),
  ).toEqual(['accepted', 'accepted']);

  // The rest is applied after a restart, and nothing a second time.
  world.proxy.decide(() => 'pass');
  const again = world.run(config);
  await until({ what: 'the rest is resumed' }, () => resumes(world).length === 5);
  const url = await addressOf(again);
  await until({ what: 'three more are counted' }, async () => (await scrape(url)).sum('opsd_action_items_total') === 3);
  expect(new Set(resumes(world)).size).toBe(5);
  expect(await resumedRuns(world)).toBe(5);
  again.kill('SIGTERM');
  expect((await again.ended).code).toBe(0);
});

test.each([
  ['before the service has answered', 1],
  ['after some were done', 3],
])('kill -9 %s, and a restart continues without a second resume of the same entry', async (_when, held) => {
  const world = await daemonWorld();
  await world.failRuns(5, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  const never = gate();
  world.proxy.decide((request) => (isResume(request) && resumes(world).length === held ? never.opened : 'pass'));
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const daemon = world.run(config);
  await until({ what: 'an answer is held' }, () => resumes(world).length === held);
  daemon.kill('SIGKILL');
  expect((await daemon.ended).signal).toBe('SIGKILL');

  world.proxy.decide(() => 'pass');
  const again = world.run(config);
  const url = await addressOf(again);
  expect(
    await again.logged('actions of an earlier process have unknown outcomes, resolving them by reading'),
  ).toMatchObject({
    unknown: 1,
  });
  await until({ what: 'the rest is resumed' }, () => resumes(world).length === 5);
  await until({ what: 'the daemon has looked again and found nothing' }, async () => {
    const metrics = await scrape(url);
    return metrics.sum('opsd_policy_runs_total', { outcome: 'nothing_to_do' }) >= 2;
  });
  expect(new Set(resumes(world)).size).toBe(5);
  expect(await resumedRuns(world)).toBe(5);
  expect(await failedRuns(world.service)).toEqual([]);
});

test('a request with a lost response is not repeated; reading shows its outcome', async () => {
  const world = await daemonWorld();
  await world.failRuns(2, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  world.proxy.decide((request) => (isResume(request) && resumes(world).length === 1 ? 'lose' : 'pass'));
  const daemon = world.run(repairConfig(world, { mode: 'enforce', every: '1s' }));
  const url = await addressOf(daemon);
  await until({ what: 'both were sent' }, () => resumes(world).length === 2);
  await until(
    { what: 'later runs found nothing to do' },
    async () => (await scrape(url)).sum('opsd_policy_runs_total', { outcome: 'nothing_to_do' }) >= 2,
  );
  expect(new Set(resumes(world)).size).toBe(2);
  expect(await resumedRuns(world)).toBe(2);
  const outcomes = daemon
    .log()
    .filter((line) => line['msg'] === 'action')
    .map((line) => line['outcome']);
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
  daemon.kill('SIGKILL');
  expect((await daemon.ended).signal).toBe('SIGKILL');
  const again = world.run(config);
  const url = await addressOf(again);
  await until({ what: 'it is used up' }, () => isUsedUp(url));
  expect((await scrape(url)).value('opsd_api_quota_used_requests', { api: 'message' })).toBe(12);
  expect(world.proxy.passed.length).toBeLessThanOrEqual(12);
  again.kill('SIGTERM');
  expect((await again.ended).code).toBe(0);
});

test('the daemon starts, serves and ends while the service is unavailable, and reports it', async () => {
  const world = await daemonWorld();
  const nowhere = { proxy: { ...world.proxy, url: 'http://127.0.0.1:9' } };
  const daemon = world.run(repairConfig(nowhere, { mode: 'enforce', every: '1s' }));
  const url = await addressOf(daemon);
  const metrics = await until({ what: 'failures are counted' }, async () => {
    const exposition = await scrape(url);
    return exposition.sum('opsd_collector_failures_total', { reason: 'connection' }) > 0 && exposition;
  });
  expect(metrics.value('msgsvc_up', { api: 'message' })).toBe(0);
  expect(metrics.all('msgsvc_workflow_dlq_runs')).toEqual([]);
  expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
  daemon.kill('SIGTERM');
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
});

test('the reader of the log may disconnect: the daemon continues, and ends cleanly', async () => {
  const world = await daemonWorld();
  const daemon = world.run(repairConfig(world, { mode: 'audit', every: '1m' }));
  const url = await addressOf(daemon);
  await until({ what: 'it is ready' }, async () => (await fetch(`${url}/-/ready`)).status === 200);
  daemon.child.stderr!.destroy();
  // The first one is a warning in the log.
  world.proxy.decide(() => 'lose');
  await until({ what: 'reads fail' }, async () => (await scrape(url)).sum('opsd_collector_failures_total') > 3);
  daemon.kill('SIGTERM');
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
});
