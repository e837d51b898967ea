/** Time that skips, and the wait until a service is idle. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startEmulator, type Emulator, type EmulatorOptions, type Step } from 'msgsvc-emulator';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, TOKEN, world } from '../world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 20, 12);

async function started(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator({ time: 'skip', startAt: START, ...options });
  onTestFinished(() => emulator.stop());
  return emulator;
}

type Headers = Readonly<Record<string, string>>;

async function post(emulator: Pick<Emulator, 'url' | 'token'>, path: string, headers: Headers = {}): Promise<Response> {
  const sent = { method: 'POST', headers: { Authorization: `Bearer ${emulator.token}`, ...headers }, body: '{}' };
  return await fetch(`${emulator.url}/v2/${path}`, sent);
}

/** A destination in this process, with the host `app.example`. */
async function app(answer?: Parameters<typeof httpSink>[0]) {
  const sink = await httpSink(answer);
  return { sink, hosts: { 'app.example': Number(new URL(sink.url).port) } };
}

const states = (emulator: Emulator): readonly unknown[] =>
  emulator.messages().map(({ state, attempts }) => `${state} ${attempts}`);

describe('time that skips', () => {
  test('goes from one retry to the next, each at its time', async () => {
    const emulator = await started({ plan: 'enterprise' });
    await emulator.destinations.script('shop.example', [{ status: 500, times: 7 }, 200]);
    await post(emulator, 'publish/https://shop.example/orders', {
      'Svc-Retries': '7',
      'Svc-Retry-Delay': 'pow(2, retried) * 60000',
    });
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 8']);
    const times = emulator.destinations.requests('shop.example').map(({ at }) => (at - START) / 60_000);
    expect(times).toEqual([0, 1, 3, 7, 15, 31, 63, 127]);
    expect(emulator.clock).toMatchObject({ mode: 'skip' });
    expect(emulator.clock.now()).toBe(START + 127 * 60_000);
  });

  test('needs no call: a test that waits for its own server sees a message of next month', async () => {
    const { sink, hosts } = await app();
    const emulator = await started({ hosts });
    await post(emulator, 'publish/https://app.example/bill', { 'Svc-Delay': '30d' });
    await expect.poll(() => sink.requests.length).toBe(1);
    expect(emulator.clock.now()).toBe(START + 30 * DAY);
  });

  test('waits for a server that is slow in real time', async () => {
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { hosts } = await app(async (request, response) => {
      if (request.url === '/slow') {
        asked.resolve();
        await answer.promise;
      }
      response.end();
    });
    const emulator = await started({ hosts, quietMs: 1 });
    await post(emulator, 'publish/https://app.example/later', { 'Svc-Delay': '1h' });
    await post(emulator, 'publish/https://app.example/slow', { 'Svc-Timeout': '1s', 'Svc-Retries': '0' });
    await asked.promise;
    await expect(emulator.idle({ limitMs: 300 })).rejects.toThrow(
      /^not idle after 300 ms: 1 delivery without a response: https:\/\/app\.example\/slow \(msg_\w+\.1\); 1 message waits for its time: https:\/\/app\.example\/later \(msg_\w+\.0\); the next timer is due in 1000 ms/,
    );
    expect(emulator.clock.now()).toBe(START);
    answer.resolve();
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 1', 'DELIVERED 1']);
    expect(emulator.clock.now()).toBe(START + HOUR);
  });

  test('waits for a request in progress', async () => {
    const emulator = await started({ quietMs: 1 });
    await emulator.destinations.script('shop.example', [200]);
    await post(emulator, 'publish/https://shop.example/later', { 'Svc-Delay': '1h', 'Svc-Label': 'first' });
    const { promise, resolve } = Promise.withResolvers<void>();
    const body = new ReadableStream({
      async start(stream) {
        stream.enqueue(new TextEncoder().encode('half'));
        await promise;
        stream.close();
      },
    });
    const headers = { Authorization: `Bearer ${emulator.token}`, 'Svc-Delay': '30m' };
    const sent = fetch(`${emulator.url}/v2/publish/https://shop.example/sooner`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    });
    await expect(emulator.idle({ limitMs: 200 })).rejects.toThrow(
      '1 request in progress: POST /v2/publish/https://shop.example/sooner; 1 message waits for its time',
    );
    resolve();
    expect((await sent).status).toBe(200);
    await emulator.idle();
    const paths = emulator.destinations.requests('shop.example').map(({ path }) => path);
    expect(paths).toEqual(['/sooner', '/later']);
  });

  test('does not separate the publishes of a burst, nor its rate period and deduplication', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [200]);
    for (let order = 0; order < 40; order++) {
      const headers = { 'Svc-Delay': '1s', 'Svc-Deduplication-Id': `order-${order % 20}` };
      expect((await post(emulator, `publish/https://shop.example/${order}`, headers)).status).toBe(200);
    }
    await emulator.idle();
    expect(emulator.messages()).toHaveLength(20);
    const times = emulator.destinations.requests('shop.example').map(({ at }) => at);
    expect(new Set(times)).toEqual(new Set([START + 1_000]));
  });

  test('does not take a process that stood still for a quiet one', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [200]);
    for (let order = 0; order < 5; order++) {
      // The next request needs several turns of the event loop, because its connection is a new one.
      for (const end = process.uptime() + 0.05; process.uptime() < end;);
      const headers = { Authorization: `Bearer ${emulator.token}`, 'Svc-Delay': '1s' };
      const url = `${emulator.url}/v2/publish/https://shop.example/${order}`;
      const [response] = (await once(request(url, { method: 'POST', headers, agent: false }).end(), 'response')) as [
        IncomingMessage,
      ];
      response.resume();
    }
    await emulator.idle();
    const times = emulator.destinations.requests('shop.example').map(({ at }) => at);
    expect(new Set(times)).toEqual(new Set([START + 1_000]));
  });

  test('lets a server publish the next step after its response', async () => {
    let emulator: Emulator | undefined;
    const { sink, hosts } = await app(async (request, response) => {
      response.end();
      const step = Number(/\d+/.exec(request.url)![0]);
      if (step < 5) await post(emulator!, `publish/https://app.example/${step + 1}`, { 'Svc-Delay': '10m' });
    });
    emulator = await started({ hosts });
    await post(emulator, 'publish/https://app.example/9', { 'Svc-Delay': '55m' });
    await post(emulator, 'publish/https://app.example/0');
    await emulator.idle();
    expect(sink.requests.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3', '/4', '/5', '/9']);
    expect(emulator.clock.now()).toBe(START + 55 * 60_000);
  });

  test('spends the time of scripted destinations, and reaches a timeout', async () => {
    const emulator = await started();
    await emulator.destinations.script('slow.example', [{ afterMs: 90_000, bodyMs: 30_000, body: 'slow' }]);
    await emulator.destinations.script('dead.example', ['hang', 200]);
    await post(emulator, 'publish/https://slow.example/');
    await post(emulator, 'publish/https://dead.example/', { 'Svc-Timeout': '10m', 'Svc-Retry-Delay': '60000' });
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 1', 'DELIVERED 2']);
    expect(emulator.clock.now()).toBe(START + 11 * 60_000);
  });

  test('reaches the timeout of a server that hangs in real time', async () => {
    const { hosts } = await app(() => new Promise(() => undefined));
    const emulator = await started({ hosts });
    await post(emulator, 'publish/https://app.example/', { 'Svc-Timeout': '1h', 'Svc-Retries': '0' });
    await emulator.idle({ limitMs: 30_000 });
    expect(emulator.deadLetters()).toMatchObject([{ error: expect.stringContaining('timeout') as string }]);
    expect(emulator.clock.now()).toBe(START + HOUR);
  }, 40_000);

  test('skips to the next second of a client that was rejected', async () => {
    const emulator = await started({ plan: 'free' });
    await emulator.destinations.script('shop.example', [200]);
    const burst = await Promise.all(Array.from({ length: 101 }, () => post(emulator, 'publish/https://shop.example/')));
    expect(burst.filter(({ status }) => status === 429)).toHaveLength(1);
    await emulator.idle();
    expect((await post(emulator, 'publish/https://shop.example/')).status).toBe(200);
  });

  test('leaves paused keys waiting, and continues when they are resumed', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [200]);
    await emulator.seed({ flowControlKeys: [{ key: 'billing', paused: true }] });
    const headers = { 'Svc-Flow-Control-Key': 'billing', 'Svc-Flow-Control-Value': 'rate=1,period=1h' };
    for (let bill = 0; bill < 3; bill++) await post(emulator, 'publish/https://shop.example/', headers);
    await emulator.idle();
    expect(states(emulator)).toEqual(['CREATED 0', 'CREATED 0', 'CREATED 0']);
    await emulator.seed({ flowControlKeys: [{ key: 'billing' }] });
    await emulator.idle();
    const times = emulator.destinations.requests('shop.example').map(({ at }) => (at - START) / HOUR);
    expect(times).toEqual([0, 1, 2]);
  });

  test('does not separate a seed from what follows it', async () => {
    const emulator = await started();
    await emulator.seed({
      failedRuns: [{ url: 'https://flows.example/', failureFunctionState: 'CALLBACK_INPROGRESS' }],
      destinations: { 'flows.example': [200] },
      messages: [{ destination: 'https://flows.example/later', delay: '30m' }],
    });
    await post(emulator, 'publish/https://flows.example/sooner', { 'Svc-Delay': '20m' });
    await emulator.idle();
    const seen = emulator.destinations.requests('flows.example').map(({ path, at }) => [path, (at - START) / 60_000]);
    expect(seen).toEqual([
      ['/sooner', 20],
      ['/later', 30],
      ['/', 60],
    ]);
  });

  test('can be advanced, and goes on from there', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [200]);
    await emulator.clock.advance(DAY);
    await post(emulator, 'publish/https://shop.example/', { 'Svc-Delay': '1h' });
    await emulator.idle();
    expect(emulator.clock.now()).toBe(START + DAY + HOUR);
  });

  test('ends with a stop in the middle', async () => {
    let timers = 0;
    const pending = new Set<number>();
    const after: Clock['after'] = (ms, run) => {
      const id = timers++;
      pending.add(id);
      const timer = systemClock.after(ms, () => {
        pending.delete(id);
        run();
      });
      const cancel = (): void => {
        pending.delete(id);
        timer.cancel();
      };
      return { cancel, [Symbol.dispose]: cancel };
    };
    const clock = { ...systemClock, after };
    const limited = { enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' }] } as const;
    const service = await world({ clock, time: 'skip', startAt: START, control: true, ...limited });
    // A rejected request leaves a timer: the end of the second.
    const delayed = { headers: { 'Svc-Delay': '1h' } };
    const publish = () => service.call('POST', '/v2/publish/https://shop.example/', delayed);
    await Promise.all(Array.from({ length: 101 }, publish));
    await service.emulator.stop();
    const stoppedAt = service.emulator.control.clock().now;
    // The quiet time in progress ends. Between two parts of it, no timer is pending.
    for (let still = 0; still < 5; still++) {
      if (pending.size > 0) still = 0;
      await nextTurn();
    }
    const before = timers;
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(timers).toBe(before);
    expect(service.emulator.control.clock().now).toBe(stoppedAt);
  });
});

describe('fake timers', () => {
  const all = { toFake: ['setTimeout', 'setInterval', 'setImmediate', 'Date', 'performance', 'hrtime'] } as const;

  test('installed after the library was loaded do not disturb it', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [503, 200]);
    vi.useFakeTimers({ toFake: [...all.toFake] });
    onTestFinished(() => void vi.useRealTimers());
    await post(emulator, 'publish/https://shop.example/', { 'Svc-Delay': '1h' });
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 2']);
  });

  test('installed before the library was loaded do not disturb it', async () => {
    vi.useFakeTimers({ toFake: [...all.toFake] });
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(0);
    vi.resetModules();
    const fresh = await import('msgsvc-emulator');
    expect(fresh.startEmulator).not.toBe(startEmulator);
    const emulator = await fresh.startEmulator({ time: 'skip' });
    expect(emulator.clock.now()).toBeGreaterThan(Date.UTC(2020, 0));
    await emulator.destinations.script('shop.example', [503, 200]);
    await post(emulator, 'publish/https://shop.example/', { 'Svc-Delay': '1h' });
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 2']);
    await emulator.stop();
  });
});

describe('idle', () => {
  test('waits for a retry in real time', async () => {
    const emulator = await started({ time: 'real' });
    await emulator.destinations.script('shop.example', [503, 200]);
    await post(emulator, 'publish/https://shop.example/', { 'Svc-Retry-Delay': '100' });
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 2']);
  });

  test('does not wait for the next move of virtual time', async () => {
    const emulator = await started({ time: 'virtual' });
    await emulator.destinations.script('shop.example', [503, 200]);
    await post(emulator, 'publish/https://shop.example/');
    await emulator.idle();
    expect(states(emulator)).toEqual(['RETRY 1']);
    await emulator.clock.advance(DAY);
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 2']);
  });

  test('waits for what the application publishes a moment later', async () => {
    const emulator = await started({ time: 'virtual' });
    await emulator.destinations.script('shop.example', [200]);
    await post(emulator, 'publish/https://shop.example/first');
    const second = new Promise((resolve) => setImmediate(resolve)).then(() =>
      post(emulator, 'publish/https://shop.example/second'),
    );
    await emulator.idle();
    expect(states(emulator)).toEqual(['DELIVERED 1', 'DELIVERED 1']);
    await second;
  });

  test('names what never ends', async () => {
    let emulator: Emulator | undefined;
    const { hosts } = await app((_request, response) => {
      // The last one is aborted by the end of the test.
      const next = post(emulator!, 'publish/https://app.example/tick', { 'Svc-Delay': '1m' });
      void next.then(() => response.end()).catch(() => undefined);
    });
    emulator = await started({ hosts, quietMs: 1 });
    await post(emulator, 'publish/https://app.example/tick');
    await expect(emulator.idle({ limitMs: 300 })).rejects.toThrow(
      /not idle after 300 ms: .*were published meanwhile, the last to https:\/\/app\.example\/tick/,
    );
  });

  test('is a request of the control path, in each mode', async () => {
    const emulator = await started({ time: 'real' });
    await emulator.destinations.script('shop.example', [200]);
    const call = async (path: string, body: object) => {
      const response = await fetch(`${emulator.url}/-/emulator/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      return { status: response.status, json: (await response.json()) as object };
    };
    await post(emulator, 'publish/https://shop.example/', { 'Svc-Delay': '1d' });
    expect(await call('idle', { limitMs: 10 })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('1 message waits for its time') as string },
    });
    expect(await call('clock', { mode: 'virtual' })).toMatchObject({ json: { mode: 'virtual' } });
    expect(await call('idle', {})).toMatchObject({ status: 200, json: { mode: 'virtual', timers: 1 } });
    expect(await call('clock', { mode: 'skip' })).toMatchObject({ json: { mode: 'skip' } });
    expect(await call('idle', {})).toMatchObject({ status: 200, json: { mode: 'skip', timers: 0 } });
    expect(states(emulator)).toEqual(['DELIVERED 1']);
    expect(await call('clock', { mode: 'real' })).toMatchObject({ json: { mode: 'real' } });
  });

  test.each([
    [{ limitMs: '5' }, 'invalid call of idle: limitMs'],
    [{ limit: 5 }, 'invalid call of idle: the options'],
  ])('rejects %j', async (options, problem) => {
    const emulator = await started();
    await expect(emulator.idle(options as never)).rejects.toThrow(problem);
  });
});

test('any messages end alike in skipped and in advanced time', async () => {
  const message = fc.record({
    retries: fc.integer({ min: 0, max: 3 }),
    delay: fc.option(fc.integer({ min: 1, max: 90 }), { nil: undefined }),
    key: fc.option(fc.constantFrom('rate=2,period=30', 'parallelism=1', 'parallelism=2,rate=1,period=7'), {
      nil: undefined,
    }),
    steps: fc.array(fc.constantFrom<Step>(200, 500, 503, 'reset', 'hang', { afterMs: 40_000 }), {
      minLength: 1,
      maxLength: 4,
    }),
    callback: fc.boolean(),
  });
  type Sent = typeof message extends fc.Arbitrary<infer T> ? T : never;
  const results = async (messages: readonly Sent[], time: 'skip' | 'virtual') => {
    await using emulator = await startEmulator({ time, startAt: START, seed: 1, quietMs: 1 });
    await emulator.destinations.script('back.example', [200]);
    for (const [index, { steps }] of messages.entries()) await emulator.destinations.script(`d${index}.example`, steps);
    await emulator.seed({
      messages: messages.map(({ retries, delay, key, callback }, index) => ({
        destination: `https://d${index}.example/`,
        timeout: '60s',
        retries,
        ...(delay !== undefined && { delay }),
        ...(key !== undefined && { flowControlKey: key.replaceAll(/\W/g, '-'), flowControlValue: key }),
        ...(callback && { callback: `https://back.example/${index}` }),
      })),
    });
    if (time === 'virtual') await emulator.clock.advance(30 * DAY);
    await emulator.idle();
    // Callbacks of one moment have any order, as the responses of their messages do.
    return emulator
      .messages()
      .map(({ url, state, attempts, responseStatus }) => [url, state, attempts, responseStatus] as const)
      .toSorted(([one], [other]) => one.localeCompare(other));
  };
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 6 }), async (messages) => {
      const [skipped, advanced] = [await results(messages, 'skip'), await results(messages, 'virtual')];
      expect(skipped).toEqual(advanced);
      expect(skipped.every(([, state]) => state === 'DELIVERED' || state === 'FAILED')).toBe(true);
    }),
    { numRuns: 20 },
  );
}, 60_000);
