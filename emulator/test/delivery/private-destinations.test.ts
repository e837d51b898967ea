/** Private destinations: detection, rejection of requests that name them, and rejection at the connection. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import timers from 'undici/lib/util/timers.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Deliverer } from '#emulator/delivery/delivery.ts';
import { privateKindOf, privateKindOfUrl, publicLookup } from '#emulator/delivery/private-destinations.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, world } from '../world.ts';

const switches = { privateDestinations: 'refused' } as const;

describe('addresses', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'loopback'],
    ['::1', 'loopback'],
    ['::', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['fc00::1', 'private'],
    ['fdff::1', 'private'],
    ['::ffff:192.168.1.1', 'private'],
    ['128.0.0.1', undefined],
    ['172.15.0.1', undefined],
    ['172.32.0.1', undefined],
    ['192.169.0.1', undefined],
    ['93.184.215.14', undefined],
    ['2606:2800:21f::1', undefined],
    ['fec0::1', 'private'],
    ['100.64.0.1', 'reserved'],
    ['100.127.255.255', 'reserved'],
    ['192.0.0.8', 'reserved'],
    ['198.18.0.1', 'reserved'],
    ['198.19.255.255', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['198.51.100.255', 'reserved'],
    ['203.0.113.7', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['3fff::1', 'reserved'],
    ['224.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['ff02::1', 'reserved'],
    ['64:ff9b::a00:1', 'translated'],
    ['64:ff9b::808:808', 'translated'],
    ['64:ff9b:1::1', 'translated'],
    ['64:ff9b:1:ffff::1', 'translated'],
    ['2002:7f00:1::', 'translated'],
    ['2001::1', 'translated'],
    ['::ffff:0:127.0.0.1', 'translated'],
    ['::10.0.0.1', 'translated'],
    ['::ffff:100.64.0.1', 'reserved'],
    ['fe80::1%eth0', 'link-local'],
    ['100.63.255.255', undefined],
    ['100.128.0.1', undefined],
    ['192.0.1.1', undefined],
    ['198.17.255.255', undefined],
    ['198.20.0.1', undefined],
    ['64:ff9b:2::1', undefined],
    ['2001:1::1', undefined],
    ['2003::1', undefined],
    ['::ffff:93.184.215.14', undefined],
  ])('%s: %s', (address, kind) => {
    expect(privateKindOf(address)).toBe(kind);
  });

  test.each([
    ['http://127.1/', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0x7f.0.0.1/', 'loopback'],
    ['http://[::ffff:7f00:1]/', 'loopback'],
    ['http://localhost:8080/', 'loopback'],
    ['http://LocalHost./', 'loopback'],
    ['http://app.localhost/', 'loopback'],
    ['http://[fd00::1]/', 'private'],
    ['http://localhost.example/', undefined],
    ['http://10.example/', undefined],
  ])('%s as written: %s', (url, kind) => {
    expect(privateKindOfUrl(new URL(url))).toBe(kind);
  });
});

describe('where they are rejected', () => {
  test.each(['http://127.0.0.1:9/', 'http://localhost/x', 'https://10.1.2.3/', 'http://[fe80::1]/'])(
    'publish and trigger to %s',
    async (url) => {
      const service = await world({ switches });
      for (const operation of ['publish', 'trigger']) {
        const answer = await service.call('POST', `/v2/${operation}/${url}`);
        expect(answer.status).toBe(400);
        expect(answer.json).toEqual({
          error: expect.stringMatching(/^the destination http.* is (loopback|private|link)/),
        });
      }
      expect(service.emulator.messages(ACCOUNT)).toEqual([]);
    },
  );

  test.each([
    ['publish', 'Svc-Callback'],
    ['publish', 'Svc-Failure-Callback'],
    ['trigger', 'Svc-Failure-Callback'],
  ])('%s with %s', async (operation, header) => {
    const service = await world({ switches });
    const headers = { [header]: 'http://192.168.0.1/', 'Svc-Delay': '1h' };
    const answer = await service.call('POST', `/v2/${operation}/http://public.example/`, { headers });
    expect([answer.status, answer.json]).toEqual([400, { error: expect.stringContaining('192.168.0.1/ is private') }]);
  });

  test('resume with a failure callback, which does not change the run', async () => {
    const service = await world({ switches });
    await service.emulator.destinations.script('flow.example', [500]);
    await service.call('POST', '/v2/trigger/http://flow.example/', { headers: { 'Svc-Retries': '0' } });
    await service.drain();
    const headers = { 'Svc-Failure-Callback': 'http://127.0.0.1/' };
    expect((await service.call('POST', '/v2/workflows/dlq/resume', { headers })).status).toBe(400);
    expect(service.emulator.workflowDlq(ACCOUNT)).toHaveLength(1);
  });

  test('endpoints of a URL Group', async () => {
    const service = await world({ switches });
    const body = JSON.stringify({ endpoints: [{ url: 'http://a.example/' }, { url: 'http://127.0.0.1/' }] });
    expect((await service.call('POST', '/v2/topics/g/endpoints', { body })).status).toBe(400);
    expect((await service.call('GET', '/v2/topics')).json).toEqual([]);
  });

  test('hosts with a port of their own are delivered to, fixed and scripted', async () => {
    const sink = await httpSink();
    const service = await world({ switches, hosts: { localhost: Number(new URL(sink.url).port) } });
    await service.emulator.destinations.script('10.0.0.1', [200]);
    for (const url of ['http://localhost/a', 'http://10.0.0.1/b']) {
      expect((await service.call('POST', `/v2/publish/${url}`)).status).toBe(200);
    }
    await service.emulator.idle();
    expect(service.emulator.messages(ACCOUNT).map(({ state }) => state)).toEqual(['DELIVERED', 'DELIVERED']);
  });

  test('elsewhere they are allowed', async () => {
    const sink = await httpSink();
    const service = await world();
    expect((await service.call('POST', `/v2/publish/${sink.url}/`)).status).toBe(200);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(1);
  });
});

describe('at the connection', () => {
  /** Returns a lookup that resolves every name to these addresses. */
  function resolving(addresses: readonly LookupAddress[]): LookupFunction {
    return (_hostname, options, done) => {
      if (options.all === true) done(null, [...addresses]);
      else done(null, addresses[0]!.address, addresses[0]!.family);
    };
  }

  async function deliver(url: string, lookup: LookupFunction, refuses = true) {
    const deliverer = new Deliverer({
      clock: systemClock,
      connections: 1,
      portOf: () => undefined,
      refusesPrivate: () => refuses,
      lookup,
    });
    onTestFinished(() => deliverer.close());
    const attempt = { url, method: 'POST', headers: [], body: Buffer.from('x'), timeoutMs: 2_000 } as const;
    return deliverer.deliver(attempt, new AbortController().signal);
  }

  const loopback = { address: '127.0.0.1', family: 4 };

  test('a name with a private address is rejected, and the error says which', async () => {
    const sink = await httpSink();
    const url = `http://rebound.example:${new URL(sink.url).port}/`;
    expect(await deliver(url, resolving([loopback]))).toMatchObject({
      delivered: false,
      error:
        'private destination: rebound.example is 127.0.0.1 (loopback), and this service refuses private destinations',
    });
    expect(sink.requests).toEqual([]);
    expect(await deliver(url, resolving([loopback]), false)).toMatchObject({ delivered: true });
  });

  test('an open connection from the time when they were allowed is not used', async () => {
    const sink = await httpSink();
    let refuses = false;
    const deliverer = new Deliverer({
      clock: systemClock,
      connections: 1,
      portOf: () => undefined,
      refusesPrivate: () => refuses,
      lookup: resolving([loopback]),
    });
    onTestFinished(() => deliverer.close());
    const url = `http://warm.example:${new URL(sink.url).port}/`;
    const attempt = { url, method: 'POST', headers: [], body: Buffer.from('x'), timeoutMs: 2_000 } as const;
    const deliver = () => deliverer.deliver(attempt, new AbortController().signal);
    expect(await deliver()).toMatchObject({ delivered: true });
    refuses = true;
    expect(await deliver()).toMatchObject({ delivered: false, error: expect.stringContaining('private destination') });
    expect(sink.requests).toHaveLength(1);
  });

  test('of several addresses only the public ones are tried', () => {
    const open = { address: '93.184.215.14', family: 4 };
    const lookup = publicLookup(resolving([loopback, open, { address: 'fd00::1', family: 6 }]));
    const found: unknown[] = [];
    lookup('both.example', { all: true }, (error, addresses) => found.push(error, addresses));
    expect(found).toEqual([null, [open]]);
  });

  test('an address that passed the first check is rejected too', async () => {
    const sink = await httpSink();
    expect(await deliver(sink.url, resolving([loopback]))).toMatchObject({
      error: 'private destination: 127.0.0.1 is loopback, and this service refuses private destinations',
    });
    expect(sink.requests).toEqual([]);
  });

  test('an attempt fails if the connection is not open after 10 s', async () => {
    const asked = Promise.withResolvers<void>();
    const outcome = deliver('http://slow.example/', () => asked.resolve());
    await asked.promise;
    // The first turn begins the time.
    timers.tick(0);
    timers.tick(10_500);
    expect(await outcome).toMatchObject({ error: expect.stringMatching(/^UND_ERR_CONNECT_TIMEOUT.*slow.*10000ms/) });
  });

  test('a name that cannot be resolved is reported as such, not as private', async () => {
    const none: LookupFunction = (_hostname, _options, done) =>
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), '');
    expect(await deliver('http://nowhere.example/', none)).toMatchObject({ error: 'getaddrinfo ENOTFOUND' });
  });
});
