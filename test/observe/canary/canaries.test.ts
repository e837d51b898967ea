/** Messages of a canary from the schedule to the verdict, over restarts and faults. */
import { describe, expect, test } from 'vitest';
import { createCanaryStore } from '#storage/canary-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { canaryWorld, playedService, START } from './canary-world.ts';

const MINUTE = 60_000;

describe('a message', () => {
  test('is stored before it is published, and published once', async () => {
    const service = playedService();
    const store = createCanaryStore(openMemoryStore('here'));
    const { publish } = service.api;
    const known: number[] = [];
    service.api.publish = async (...asked) => {
      known.push((await store.load()).rounds.length);
      return publish(...asked);
    };
    const world = await canaryWorld({ store, service });
    await world.succeed();
    await world.clock.advance(MINUTE);
    expect(known).toEqual([1, 2]);
    const [first] = service.published;
    expect(first).toMatchObject({
      request: {
        destination: 'https://hooks.example.com/hooks/canary/production/home',
        retries: 0,
        timeout: '10s',
        redactFields: ['body', 'header[Opsd-Canary]'],
        callback: 'https://hooks.example.com/hooks/canary/production/home/callback',
        callbackRetries: 0,
      },
    });
    expect(first!.request.label[0]).toBe('opsd-canary');
    expect(first!.request.body.length).toBe(256);
  });

  test('that is delivered and reported is ok; a warm-up has no metrics', async () => {
    const world = await canaryWorld();
    await world.succeed();
    expect(world.state()).toMatchObject({ verdict: 'ok', inFlight: 0, lastSuccessAt: START });
    expect(world.newest().view()).toMatchObject({ warmUp: true, result: { verdict: 'ok' } });
    expect(world.said1('canary.message')).toEqual([]);
    await world.clock.advance(MINUTE);
    await world.clock.advance(100);
    await world.succeed();
    expect(world.newest().view()).toMatchObject({ warmUp: false, size: 'real', bytes: 65_536 });
    expect(world.said1('canary.message')).toMatchObject([{ outcome: 'sent' }, { outcome: 'arrived' }]);
    expect(world.said1('canary.phase').map((event) => 'phase' in event && event.phase)).toEqual([
      'accepted',
      // The log was read once before.
      'logged',
      'arrived',
      'callback',
      'delivered',
    ]);
    expect(world.said1('canary.round_trip')).toHaveLength(1);
  });

  test('that is not attempted is of the service, and lost later, once', async () => {
    const world = await canaryWorld();
    await world.succeed();
    await world.clock.advance(MINUTE);
    const { clock, store } = world;
    await clock.advance(25_000);
    expect(world.state()).toMatchObject({ verdict: 'service' });
    expect(world.state().reason).toContain('its log shows no attempt after 20 s');
    await clock.advance(20 * MINUTE);
    const lost = (of: typeof world) =>
      of.said1('canary.message').filter((event) => 'outcome' in event && event.outcome === 'lost').length;
    const before = lost(world);
    expect(before).toBeGreaterThan(0);
    await world.stop();
    const again = await canaryWorld({ store, clock });
    await again.clock.advance(30_000);
    // Those that were counted before are not counted again.
    const rounds = again.book.rounds(again.newest().record);
    const settled = rounds.filter(({ record }) => record.isSettled === true && record.arrivals.length === 0).length;
    expect(lost(again)).toBe(settled - before);
  });

  test('that arrives twice after its verdict changes the verdict', async () => {
    const world = await canaryWorld();
    await world.succeed();
    await world.arrive();
    expect(world.newest().view()).toMatchObject({ duplicates: 1, result: { verdict: 'service' } });
  });

  test('whose failure is a connection is of the network only if the receiver answers', async () => {
    for (const answers of [true, false]) {
      const world = await canaryWorld();
      await world.succeed();
      await world.clock.advance(MINUTE);
      world.probes.answer = answers;
      world.service.entry(world.service.published.at(-1)!, 'ERROR', { error: 'connect ECONNREFUSED' });
      await world.clock.advance(2_000);
      expect(world.state().verdict).toBe(answers ? 'network' : 'receiver');
    }
  });

  test('is found by its label if the response to the publish request was lost', async () => {
    const service = playedService();
    const { publish } = service.api;
    const world = await canaryWorld({ service });
    await world.succeed();
    service.api.publish = async (...asked) => {
      await publish(...asked);
      throw Object.assign(new Error('stopped'), { code: 'aborted', effect: 'possible' });
    };
    await world.clock.advance(MINUTE);
    await world.succeed();
    expect(world.newest().view()).toMatchObject({ result: { verdict: 'ok' } });
  });

  test('is of unknown fate if the clock was set while it was in flight', async () => {
    const world = await canaryWorld();
    await world.succeed();
    await world.clock.advance(MINUTE);
    world.clock.jump(3_600_000);
    await world.clock.advance(25_000);
    expect(world.newest().view()).toMatchObject({ result: { verdict: 'unknown' } });
  });

  test.each([
    ['each state', undefined],
    ['no state', 'stateless'],
  ])('is followed in a log with %s', async (_title, mode) => {
    const service = playedService();
    if (mode !== undefined) {
      const { listLogs } = service.api;
      service.api.listLogs = async (query) => {
        const page = await listLogs(query);
        const value = page.value
          .filter((entry) => query.state === undefined || entry.state === query.state)
          .map(({ state: _state, ...rest }) => rest);
        return { ...page, value };
      };
    }
    const world = await canaryWorld({ service });
    await world.succeed();
    expect(world.newest().view()).toMatchObject({ result: { verdict: 'ok' } });
  });
});

describe('a route', () => {
  test('by a URL Group with another endpoint sends nothing', async () => {
    const service = playedService();
    service.api.listUrlGroups = async () => ({
      value: [{ name: 'group', endpoints: [{ url: 'https://shop.example.com' }] }],
      dropped: 0,
    });
    const world = await canaryWorld({ service, settings: { via: { urlGroup: 'group' } } });
    await world.clock.advance(MINUTE);
    expect(service.published).toEqual([]);
    expect(world.newest().view()).toMatchObject({ result: { verdict: 'unknown' } });
    expect(world.newest().record.result?.reason).toContain('the only endpoint of the URL Group must be https://hooks');
  });

  test('by the own URL Group of the canary sends to the group', async () => {
    const world = await canaryWorld({ settings: { via: { urlGroup: 'group' } } });
    expect(world.service.published).toMatchObject([{ request: { destination: 'group' } }]);
  });

  test('by a flow-control key repeats its limits', async () => {
    const world = await canaryWorld({ settings: { via: { flowControlKey: 'billing' } } });
    const flowControl = { key: 'billing', parallelism: 3, rate: 7, period: 60 };
    expect(world.service.published).toMatchObject([{ request: { flowControl } }]);
  });

  test('by a flow-control key with waiting messages and no visible limits sends nothing', async () => {
    const service = playedService();
    service.api.getFlowControl = async (flowControlKey) =>
      ({ value: { flowControlKey, waitListSize: 5 }, dropped: 0 }) as never;
    await canaryWorld({ service, settings: { via: { flowControlKey: 'billing' } } });
    expect(service.published).toEqual([]);
  });

  test('by a full flow-control key is throttled', async () => {
    const service = playedService();
    const world = await canaryWorld({ service, settings: { via: { flowControlKey: 'billing' } } });
    await world.succeed();
    const { getFlowControl } = service.api;
    service.api.getFlowControl = async (key) => {
      const { value } = await getFlowControl(key);
      return { value: { ...value, waitListSize: 3 }, dropped: 0 };
    };
    await world.clock.advance(MINUTE + 25_000);
    expect(world.state()).toMatchObject({ verdict: 'throttled' });
  });
});

describe('the state', () => {
  test('is unknown before the first verdict, after a restart, and once the last verdict is old', async () => {
    const world = await canaryWorld();
    expect(world.state()).toMatchObject({ verdict: 'unknown', inFlight: 1 });
    await world.succeed();
    expect(world.state().verdict).toBe('ok');
    const { store } = world;
    await world.stop();
    const again = await canaryWorld({ store });
    expect(again.state()).toMatchObject({ verdict: 'unknown', lastSuccessAt: START });
    await again.succeed();
    expect(again.state().verdict).toBe('ok');
    await again.stop();
    await again.clock.advance(10 * MINUTE);
    expect(again.state()).toMatchObject({
      verdict: 'unknown',
      reason: expect.stringMatching(/^the last verdict is 10 min old$/),
    });
  });

  test('does not change with a failed warm-up', async () => {
    const world = await canaryWorld();
    await world.clock.advance(45_000);
    expect(world.newest().view()).toMatchObject({ warmUp: true, result: { verdict: 'service' } });
    expect(world.state()).toMatchObject({ verdict: 'unknown' });
  });

  test('keeps the failure of a large message until the next one, which is sent soon', async () => {
    const world = await canaryWorld();
    const { clock } = world;
    await world.succeed();
    const sizes: string[] = [];
    for (let minute = 0; minute < 5; minute += 1) {
      await clock.advance(MINUTE - ((clock.now() - START) % MINUTE) + 100);
      sizes.push(world.newest().record.size);
      if (world.newest().record.size === 'small' || minute > 1) await world.succeed();
      else await clock.advance(45_000);
    }
    expect(sizes).toEqual(['real', 'real', 'real', 'small', 'small']);
    expect(world.state()).toMatchObject({ verdict: 'ok' });
  });
});
