/** Notifications to a webhook: once at the start, once at the end, in order, until they are accepted. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpProxy, PROXY_PASSWORD, proxyEnvironment } from '../../support/http-proxy.ts';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { came, notificationWorld, NOW, receiverWorld } from './world.ts';

type Sent = Readonly<Record<string, unknown>>;

function bodies(sink: HttpSink): Sent[] {
  return sink.requests.map((request) => JSON.parse(request.body.toString('utf8')) as Sent);
}

describe('a condition', () => {
  test('is notified when it begins and when it ends', async () => {
    const sink = await httpSink();
    const { start, tell, clock } = notificationWorld();
    await start({ webhook: { url: `${sink.url}/hook?key=1`, headers: { 'X-Team': 'sre' } } });
    tell();
    await came(sink, 1);
    await clock.advance(60_000);
    tell({ isResolved: true, summary: 'quota holds resume-billing no more' });
    await came(sink, 2);
    const [begun, ended] = bodies(sink);
    expect(begun).toEqual({
      version: 1,
      id: `held/resume-billing/${NOW}/firing`,
      status: 'firing',
      key: 'held/resume-billing',
      severity: 'warning',
      policy: 'resume-billing',
      account: 'production',
      owner: 'payments',
      guard: 'quota',
      summary: 'quota holds resume-billing',
      detail: 'The account answered 429.',
      startedAt: '2026-11-18T10:30:00.000Z',
      text: '[warning] quota holds resume-billing',
    });
    expect(ended).toMatchObject({
      status: 'resolved',
      startedAt: '2026-11-18T10:30:00.000Z',
      endedAt: '2026-11-18T10:31:00.000Z',
      text: '[resolved] quota holds resume-billing no more',
    });
    expect(sink.requests[0]).toMatchObject({
      method: 'POST',
      url: '/hook?key=1',
      headers: { 'x-team': 'sre', 'content-type': 'application/json' },
    });
  });

  test('that continues is not notified again, nor is the end of a condition that had not begun', async () => {
    const { sink, notifier, tell, turn } = await receiverWorld('webhook');
    tell({ isResolved: true });
    tell();
    tell({ at: NOW + 5, detail: 'Still 429.' });
    await came(sink, 1);
    await turn();
    expect(notifier.activeConditions()).toMatchObject([{ detail: 'Still 429.', at: NOW }]);
    tell({ isResolved: true });
    tell({ isResolved: true });
    await came(sink, 2);
    await turn();
    expect(notifier.activeConditions()).toEqual([]);
    expect(bodies(sink).map(({ status }) => status)).toEqual(['firing', 'resolved']);
  });

  test('that is snoozed is not notified of, and notified again when it begins again', async () => {
    const { sink, notifier, tell } = await receiverWorld('webhook');
    tell();
    await came(sink, 1);
    tell({ isResolved: true, isSnoozed: true, at: NOW + 1 });
    expect(notifier.activeConditions()).toEqual([]);
    tell({ at: NOW + 2 });
    await came(sink, 2);
    expect(bodies(sink).map(({ id }) => id)).toEqual([NOW, NOW + 2].map((at) => `held/resume-billing/${at}/firing`));
  });

  test('that is snoozed before its notification is delivered is not notified of', async () => {
    const { sink, tell, clock, turn } = await receiverWorld('webhook', 503);
    tell();
    tell({ key: 'other' });
    await came(sink, 1);
    tell({ isResolved: true, isSnoozed: true });
    sink.answerWith((_request, response) => void response.end());
    await turn();
    await clock.advance(1_000);
    await came(sink, 2);
    await clock.advance(86_400_000);
    await turn();
    expect(bodies(sink).map(({ id }) => id)).toEqual(
      ['held/resume-billing', 'other'].map((key) => `${key}/${NOW}/firing`),
    );
  });

  test('that becomes worse is notified again', async () => {
    const { sink, tell } = await receiverWorld('webhook');
    tell();
    tell({ severity: 'critical' });
    tell({ severity: 'warning' });
    tell({ isResolved: true });
    await came(sink, 3);
    expect(bodies(sink).map(({ text }) => String(text).split(' ')[0])).toEqual([
      '[warning]',
      '[critical]',
      '[resolved]',
    ]);
  });

  test('of severity info is notified when it lasts, and is not when it ends before', async () => {
    const sink = await httpSink();
    const { start, tell, clock, store, turn } = notificationWorld();
    const notifier = await start({
      webhook: { url: sink.url },
      alertmanager: { url: 'http://127.0.0.1:1/nobody' },
      infoAfter: '10m',
    });
    tell({ severity: 'info', key: 'short' });
    tell({ severity: 'info', key: 'long' });
    expect(notifier.activeConditions()).toHaveLength(2);
    await clock.advance(599_999);
    tell({ severity: 'info', key: 'short', isResolved: true });
    await turn();
    expect(sink.requests).toEqual([]);
    expect((await store.load()).notifications.map(({ notification }) => notification.key)).toEqual(['long']);
    await clock.advance(1);
    await came(sink, 1);
    tell({ severity: 'info', key: 'long', isResolved: true });
    await came(sink, 2);
    expect(bodies(sink).map(({ key, status }) => `${String(key)} ${String(status)}`)).toEqual([
      'long firing',
      'long resolved',
    ]);
  });

  test('of severity info that becomes worse is notified at once', async () => {
    const { sink, tell } = await receiverWorld('webhook');
    tell({ severity: 'info' });
    tell({ severity: 'warning' });
    await came(sink, 1);
    expect(bodies(sink)).toMatchObject([{ severity: 'warning' }]);
  });

  test('goes to the webhook of its owner, others to the common one', async () => {
    const [all, own] = [await httpSink(), await httpSink()];
    const { start, tell } = notificationWorld();
    await start({ webhook: { url: all.url }, owners: { payments: { webhook: { url: own.url } } } });
    tell();
    tell({ key: 'b', owner: 'growth' });
    tell({ key: 'c', owner: undefined as never });
    await came(all, 2);
    await came(own, 1);
    expect(bodies(own).map(({ key }) => key)).toEqual(['held/resume-billing']);
  });
});

describe('a receiver', () => {
  test('that fails is retried, with growing intervals, and the order stays', async () => {
    const { sink, tell, said, log, pass } = await receiverWorld('webhook', 503);
    tell();
    tell({ isResolved: true });
    await came(sink, 1);
    for (const [wait, count] of [
      [1_000, 2],
      [2_000, 3],
      [4_000, 4],
    ] as const) {
      await pass(wait);
      await came(sink, count);
    }
    sink.answerWith((_request, response) => void response.end());
    await pass(8_000);
    await came(sink, 6);
    expect(bodies(sink).map(({ status }) => status)).toEqual([...Array<string>(5).fill('firing'), 'resolved']);
    expect(said).toContainEqual({ type: 'notification.failed', receiver: 'webhook', reason: 'status 503' });
    expect(log.filter((line) => line.includes('notification delivery failed'))).toHaveLength(1);
    await until({ what: 'it is said' }, () => log.some((line) => line.includes('notification delivery recovered')));
  });

  test('that requests a pause gets it, ten minutes at most', async () => {
    const { sink, tell, clock } = await receiverWorld('webhook', 429, { 'Retry-After': '7200' });
    tell();
    await came(sink, 1);
    await until({ what: 'the wait' }, () => clock.nextIn === 600_000);
    expect(sink.requests).toHaveLength(1);
  });

  test('that rejects one permanently gets the next', async () => {
    const sink = await httpSink((request, response) => {
      response.writeHead(request.body.includes('"key":"bad"') ? 422 : 200).end();
    });
    const { start, tell, lost } = notificationWorld();
    await start({ webhook: { url: sink.url } });
    tell({ key: 'bad' });
    tell({ key: 'good' });
    await came(sink, 2);
    expect(lost()).toEqual(['webhook rejected']);
  });

  test('whose file does not exist yet is waited for; the file may change', async () => {
    const [first, second] = [await httpSink(), await httpSink()];
    const { start, tell, clock, said } = notificationWorld();
    const folder = tempDir();
    const [urlFile, tokenFile] = [join(folder, 'url'), join(folder, 'token')];
    writeFileSync(tokenFile, 't1\n');
    await start({ webhook: { urlFile, tokenFile } });
    tell();
    await until({ what: 'the wait' }, () => clock.nextIn === 1_000);
    expect(said).toContainEqual({ type: 'notification.failed', receiver: 'webhook', reason: 'ENOENT' });
    writeFileSync(urlFile, `${first.url}\n`);
    await clock.advance(1_000);
    await came(first, 1);
    expect(first.requests[0]!.headers['authorization']).toBe('Bearer t1');
    writeFileSync(urlFile, `${second.url}/other`);
    tell({ isResolved: true });
    await came(second, 1);
    expect(second.requests[0]!.url).toBe('/other');
  });

  test('that redirects is not followed', async () => {
    const other = await httpSink();
    const { tell, clock } = await receiverWorld('webhook', 307, { Location: other.url });
    tell();
    await until({ what: 'the wait' }, () => clock.nextIn === 1_000);
    expect(other.requests).toEqual([]);
  });
});

describe('a restart', () => {
  test('forgets no undelivered notification, and repeats none', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(503).end());
    const world = notificationWorld();
    const before = await world.start({ webhook: { url: sink.url } });
    world.tell();
    await came(sink, 1);
    await before[Symbol.asyncDispose]();
    const tried = sink.requests.length;
    sink.answerWith((_request, response) => void response.end());
    const after = await world.start({ webhook: { url: sink.url } });
    await came(sink, tried + 1);
    expect(after.activeConditions()).toMatchObject([{ key: 'held/resume-billing', at: NOW }]);
    world.tell();
    await world.turn();
    await after[Symbol.asyncDispose]();

    await world.start({ webhook: { url: sink.url } });
    world.tell({ isResolved: true });
    await came(sink, tried + 2);
    expect(bodies(sink).at(-1)).toMatchObject({ status: 'resolved' });
    expect(sink.requests).toHaveLength(tried + 2);
  });

  test('reports the losses of a removed receiver', async () => {
    const world = notificationWorld();
    const before = await world.start({ webhook: { url: 'http://127.0.0.1:1/nobody' } });
    world.tell();
    await world.turn();
    await before[Symbol.asyncDispose]();
    await world.start({});
    expect(world.lost()).toEqual(['webhook no_receiver']);
    await world.turn();
    expect((await world.store.load()).queue).toEqual([]);
  });

  test('after a day skips outdated notifications', async () => {
    const sink = await httpSink();
    const world = notificationWorld();
    const before = await world.start({ webhook: { url: 'http://127.0.0.1:1/nobody' } });
    world.tell();
    await world.turn();
    await before[Symbol.asyncDispose]();
    world.clock.jump(86_400_001);
    await world.start({ webhook: { url: sink.url } });
    world.tell({ key: 'new' });
    await came(sink, 1);
    expect(bodies(sink).map(({ key }) => key)).toEqual(['new']);
    expect(world.lost()).toEqual(['webhook too_old']);
  });
});

describe('a caller that raises a condition', () => {
  test('does not wait: nothing is written in its turn, not even in the middle of its transaction', async () => {
    const { start, tell, turn, db, store } = notificationWorld();
    await start({ webhook: { url: 'http://127.0.0.1:1/nobody' } });
    db.exec('BEGIN IMMEDIATE');
    tell();
    expect((await store.load()).notifications).toEqual([]);
    db.exec('ROLLBACK');
    await turn();
    expect((await store.load()).notifications).toHaveLength(1);
    expect((await store.load()).queue.filter(({ kept }) => kept.isWill !== true)).toHaveLength(1);
  });

  test('is heard when the store cannot be written, and it is written when it can', async () => {
    const { sink, tell, turn, broken, store, said } = await receiverWorld('webhook');
    broken.isBroken = true;
    tell({ key: 'paused/engine', severity: 'critical' });
    await came(sink, 1);
    expect(said).toContainEqual({ type: 'store.failed', operation: 'save notifications', message: 'disk full' });
    broken.isBroken = false;
    tell({ key: 'other' });
    await turn();
    expect((await store.load()).notifications.map(({ notification }) => notification.key)).toEqual([
      'other',
      'paused/engine',
    ]);
  });

  test.each([false, true])('changes during a write that fails (%s) are stored by the next one', async (isBroken) => {
    const { start, tell, turn, broken, store } = notificationWorld();
    const notifier = await start({ webhook: { url: 'http://127.0.0.1:1/nobody' } });
    const held = Promise.withResolvers<void>();
    broken.until = held.promise;
    tell({ key: 'a' });
    tell({ key: 'b' });
    await turn();
    tell({ key: 'a', isResolved: true });
    tell({ key: 'c' });
    await turn();
    broken.isBroken = isBroken;
    held.resolve();
    await turn();
    broken.isBroken = false;
    await notifier[Symbol.asyncDispose]();
    const { notifications, queue } = await store.load();
    expect(notifications.map(({ notification }) => notification.key)).toEqual(['b', 'c']);
    expect(queue.map(({ kept: { notification, endedAt } }) => [notification.key, endedAt !== undefined])).toEqual([
      ['a', false],
      ['b', false],
      ['a', true],
      ['c', false],
    ]);
  });

  test('an overflow drops the oldest waiting notification, and counts it', async () => {
    const { start, tell, lost, store, turn } = notificationWorld();
    const notifier = await start({ webhook: { url: 'http://127.0.0.1:1/nobody' } });
    for (let n = 0; n < 700; n++) {
      tell({ key: `k${n}` });
      tell({ key: `k${n}`, isResolved: true });
    }
    await turn();
    expect(lost()).toHaveLength(400);
    expect((await store.load()).queue.filter(({ kept }) => kept.isWill !== true)).toHaveLength(1_000);
    for (let n = 0; n < 1_001; n++) tell({ key: `s${n}`, owner: 'x' });
    expect(notifier.activeConditions()).toHaveLength(1_000);
    expect(lost()).toContain('all full');
  });
});

test('no secret in any line of the log, event or row', async () => {
  const canaries = ['canary-path-1', 'canary-token-2', 'canary-header-3'];
  const world = notificationWorld();
  const sink = await httpSink((_request, response) => void response.writeHead(500).end());
  const receiver = { token: canaries[1]!, headers: { 'X-Key': canaries[2]! } };
  const notifier = await world.start({
    webhook: { ...receiver, url: `${sink.url}/${canaries[0]}` },
    owners: { growth: { webhook: { ...receiver, url: `http://127.0.0.1:1/${canaries[0]}` } } },
  });
  world.tell();
  world.tell({ key: 'b', owner: 'growth' });
  await came(sink, 1);
  await until({ what: 'both have failed' }, () => world.log.filter((line) => line.includes('will retry')).length === 2);
  await notifier[Symbol.asyncDispose]();
  expect(sink.requests[0]!.url).toContain(canaries[0]);
  const seen = [world.log.join(''), JSON.stringify(world.said), JSON.stringify(await world.store.load())].join('');
  for (const canary of canaries) expect(seen.includes(canary), canary).toBe(false);
});

test('a webhook and Alertmanager are reached through the proxy, whose failures show no login', async () => {
  const sink = await httpSink();
  const proxy = await httpProxy(sink.url);
  proxyEnvironment({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
  proxy.refusal = 502;
  const { start, tell, said, log, clock } = notificationWorld();
  await start({
    webhook: { url: 'https://hooks.example/hook' },
    alertmanager: { url: 'http://alertmanager.example:9093' },
  });
  tell();
  const failures = () => said.filter(({ type }) => type === 'notification.failed');
  await until({ what: 'both fail' }, () => failures().length >= 2);
  expect(proxy.requests.toSorted()).toEqual([
    'CONNECT hooks.example:443',
    'POST http://alertmanager.example:9093/api/v2/alerts',
  ]);
  expect(JSON.stringify([said, log])).not.toContain(PROXY_PASSWORD);
  proxy.refusal = undefined;
  await until({ what: 'Alertmanager gets it' }, async () => {
    await clock.advance(60_000);
    return sink.requests.some(({ url }) => url === '/api/v2/alerts') || undefined;
  });
});
