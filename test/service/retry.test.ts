/** Retries: who retries what, how often, and after which wait. Writes are never repeated. */
import { describe, expect, test } from 'vitest';
import { Holds } from '#service/holds.ts';
import { readRateLimits } from '#service/rate-limit-headers.ts';
import { waitBeforeRepeat } from '#service/retry.ts';
import { ServiceError } from '#service/service-error.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { Answer } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import { call, clientUnderTest, failureOf, json, type UnderTest, PUBLISH, TRIGGER } from './client-under-test.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 0, 0);

/** Responds in order, and repeats the last one. */
function inTurn(...answers: readonly Answer[]): Answer {
  let turn = 0;
  return (request, response) => answers[Math.min(turn++, answers.length - 1)]!(request, response);
}

const destroy: Answer = (_request, response) => void response.destroy();
const groups = (client: UnderTest): Promise<unknown> => client.message.listUrlGroups(call);

describe('reads', () => {
  test.each([
    ['500', json('', 500), 3],
    ['502', json('', 502), 3],
    ['503', json('', 503), 3],
    ['504', json('', 504), 3],
    ['429', json('', 429), 3],
    ['a reset', destroy, 3],
    ['501', json('', 501), 1],
    ['400', json('', 400), 1],
    ['401', json('', 401), 1],
    ['404', json('', 404), 1],
    ['408', json('', 408), 1],
    ['302', json('', 302), 1],
    ['malformed', json('{'), 1],
  ])('%s: %j tries', async (_what, answer, tries) => {
    const client = await clientUnderTest({ answer });
    expect(await failureOf(groups(client))).toBeInstanceOf(ServiceError);
    expect(client.sink.requests).toHaveLength(tries);
    expect(client.eventsOf('api.request')).toHaveLength(tries);
    expect(client.eventsOf('api.retry')).toHaveLength(tries - 1);
    expect(client.usage('message').usedToday).toBe(tries);
  });

  test('a success ends it', async () => {
    const client = await clientUnderTest({ answer: inTurn(destroy, json('', 503), json('[]')) });
    expect(await client.message.listUrlGroups(call)).toMatchObject({ value: [] });
    expect(client.eventsOf('api.request').map((event) => event.code)).toEqual(['error', 503, 200]);
  });

  test('a retry does not overdraw the budget: the failure itself is returned', async () => {
    const client = await clientUnderTest({ answer: json('', 503), limits: { requestsPerDay: 2 } });
    expect(await failureOf(groups(client))).toMatchObject({ code: 'server_error' });
    expect(client.sink.requests).toHaveLength(2);
  });

  test('an abort ends the wait with its reason', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: json('', 503, { 'retry-after': '20' }) });
    const controller = new AbortController();
    const work = failureOf(client.message.listUrlGroups({ signal: controller.signal }));
    await until({ what: 'it waits' }, () => client.eventsOf('api.retry').length === 1);
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await work).toBe(reason);
    expect(client.sink.requests).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('writes are sent once', () => {
  const answers: readonly (readonly [string, Answer])[] = [
    ['503', json('', 503)],
    ['429', json('', 429, { 'retry-after': '0' })],
    ['a reset', destroy],
  ];
  const writes: readonly (readonly [string, (client: UnderTest) => Promise<unknown>])[] = [
    ['publish', ({ message }) => message.publish(PUBLISH, call)],
    ['trigger', ({ message }) => message.trigger(TRIGGER, call)],
    ['resume', ({ message }) => message.resumeWorkflowDlq(['a'], {}, call)],
    ['delete workflow dlq', ({ message }) => message.deleteWorkflowDlq(['a'], call)],
    ['delete dlq', ({ message }) => message.deleteDlq({ toDate: NOW, count: 1 }, call)],
    ['update budget', ({ management }) => management.updateBudget('a', 20, call)],
    ['an operation by name', ({ send }) => send('rotate-token', { id: 'a' })],
  ];
  test.each(writes)('%s', async (_name, run) => {
    for (const [, answer] of answers) {
      const client = await clientUnderTest({ answer });
      expect(await failureOf(run(client))).toBeInstanceOf(ServiceError);
      expect(client.sink.requests).toHaveLength(1);
      expect(client.eventsOf('api.retry')).toEqual([]);
    }
  });
});

describe('the wait before a retry', () => {
  const error = (retryAfterMs?: number): ServiceError =>
    new ServiceError('', {
      code: 'rate_limited',
      operation: 'x',
      effect: 'none',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });

  test('is anywhere up to a bound that doubles', () => {
    expect(waitBeforeRepeat(error(), 0, () => 0)).toBe(0);
    expect(waitBeforeRepeat(error(), 0, () => 0.5)).toBe(100);
    expect(waitBeforeRepeat(error(), 1, () => 0.5)).toBe(200);
    expect(waitBeforeRepeat(error(), 20, () => 1)).toBe(5_000);
  });

  test('is never shorter than requested, and skipped if the request is too long', () => {
    expect(waitBeforeRepeat(error(3_000), 0, () => 0.9)).toBe(3_000);
    expect(waitBeforeRepeat(error(30_000), 0, () => 0)).toBe(30_000);
    expect(waitBeforeRepeat(error(30_001), 0, () => 0)).toBeUndefined();
  });

  test('of a day is left to the caller', async () => {
    const answer = json('', 429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '86400' });
    const client = await clientUnderTest({ answer });
    expect(await failureOf(groups(client))).toMatchObject({ code: 'rate_limited', retryAfterMs: 86_400_000 });
    expect(client.sink.requests).toHaveLength(1);
  });

  test('is slept on the injected clock', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: inTurn(json('', 429, { 'retry-after': '7' }), json('[]')) });
    const work = groups(client);
    await until({ what: 'it waits' }, () => client.eventsOf('api.retry').length === 1);
    expect(client.eventsOf('api.retry')).toMatchObject([{ operation: 'list-url-groups', delayMs: 7_000 }]);
    await clock.advance(6_999);
    expect(client.sink.requests).toHaveLength(1);
    await clock.advance(1);
    await work;
    expect(client.sink.requests).toHaveLength(2);
  });
});

describe('a requested wait holds the API', () => {
  const busy = (status: number, wait = '60'): Answer => json('', status, { 'retry-after': wait });
  const publish = (client: UnderTest): Promise<unknown> => client.message.publish(PUBLISH, call);

  test.each([429, 503])('%i: no request starts before it is over, also of other operations', async (status) => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: busy(status), limits: { requestsPerSecond: 1 } });
    expect(await failureOf(groups(client))).toMatchObject({ retryAfterMs: 60_000 });
    for (let second = 0; second < 60; second += 1) {
      const held = { status, effect: 'none', retryAfterMs: 60_000 - second * 1_000 };
      if (second < 30) {
        expect(await failureOf(groups(client))).toMatchObject(held);
        expect(await failureOf(client.message.listLogs({}, call))).toMatchObject(held);
      }
      expect(await failureOf(publish(client))).toMatchObject(held);
      await clock.advance(1_000);
    }
    expect(client.sink.requests).toHaveLength(1);
    expect(client.usage('message').usedToday).toBe(1);
    client.sink.answerWith(json('[]'));
    await groups(client);
    expect(client.sink.requests).toHaveLength(2);
  });

  test('it is bounded by ten minutes, and the other API is free', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: busy(503, '86400') });
    await failureOf(publish(client));
    expect(await failureOf(client.management.updateBudget('a', 20, call))).toMatchObject({ status: 503 });
    expect(client.sink.requests).toHaveLength(2);
    await clock.advance(599_000);
    await failureOf(publish(client));
    expect(client.sink.requests).toHaveLength(2);
    await clock.advance(1_000);
    await failureOf(publish(client));
    expect(client.sink.requests).toHaveLength(3);
  });

  test('a read waits for a short one', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: busy(503, '20') });
    await failureOf(publish(client));
    client.sink.answerWith(json('[]'));
    await clock.advance(5_000);
    const work = groups(client);
    await until({ what: 'it waits' }, () => client.eventsOf('api.retry').length === 1);
    expect(client.eventsOf('api.retry')).toMatchObject([{ delayMs: 15_000 }]);
    await clock.advance(15_000);
    await work;
    expect(client.sink.requests).toHaveLength(2);
  });

  test('a request that waits for the rate limit is held as well', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: busy(503), limits: { requestsPerSecond: 1 } });
    const both = [failureOf(publish(client)), failureOf(publish(client))];
    await both[0];
    await clock.advance(10_000);
    expect(await both[1]).toMatchObject({ status: 503, effect: 'none' });
    expect(client.sink.requests).toHaveLength(1);
  });

  test('a quota that rejects a write does not hold the readings', async () => {
    const clock = new ManualClock(NOW);
    const client = await clientUnderTest({ clock, answer: busy(429) });
    await failureOf(publish(client));
    expect(await failureOf(publish(client))).toMatchObject({ code: 'rate_limited', retryAfterMs: 60_000 });
    client.sink.answerWith(json('[]'));
    await groups(client);
    expect(client.sink.requests).toHaveLength(2);
  });

  test('a shorter wait does not end a longer one, and a later connection of the process keeps it', async () => {
    const clock = new ManualClock(NOW);
    const holds = new Holds(clock);
    holds.note('a', false, 429, 60_000);
    holds.note('a', false, 503, 1_000);
    holds.note('a', true, 503, 1_000);
    expect(holds.left('a', false)).toEqual({ ms: 60_000, status: 429 });
    expect(holds.left('b', false)).toBeUndefined();
    const first = await clientUnderTest({ clock, holds, answer: busy(503) });
    await failureOf(publish(first));
    const second = await clientUnderTest({ clock, holds, url: first.sink.url });
    expect(await failureOf(publish(second))).toMatchObject({ status: 503, effect: 'none' });
    expect(first.sink.requests).toHaveLength(1);
  });
});

describe('requests of the headers', () => {
  const SECONDS = NOW / 1_000;
  test.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a fraction of a second', { 'retry-after': '0.25' }, undefined],
    ['a date', { 'retry-after': 'Fri, 20 Nov 2026 10:00:09 GMT' }, 9_000],
    ['a date that is past', { 'retry-after': 'Fri, 20 Nov 2026 09:00:00 GMT' }, undefined],
    ['more than ten minutes', { 'retry-after': '86400' }, 600_000],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
    ['nothing', {}, undefined],
    ['a reset in seconds from now', { 'ratelimit-reset': '30' }, 30_000],
    ['a reset in Unix seconds', { 'ratelimit-reset': String(SECONDS + 30) }, 30_000],
    ['a reset in Unix milliseconds', { 'ratelimit-reset': String(NOW + 1_500) }, 1_500],
    ['a burst reset', { 'burst-ratelimit-reset': String(SECONDS + 1) }, 1_000],
    ['both, neither says which: the sooner', { 'burst-ratelimit-reset': '1', 'ratelimit-reset': '3600' }, 1_000],
    [
      'both, the day is used up',
      {
        'burst-ratelimit-reset': '1',
        'burst-ratelimit-remaining': '9',
        'ratelimit-reset': '3600',
        'ratelimit-remaining': '0',
      },
      3_600_000,
    ],
    [
      'both, the burst is used up',
      {
        'burst-ratelimit-reset': '1',
        'burst-ratelimit-remaining': '0',
        'ratelimit-reset': '3600',
        'ratelimit-remaining': '500',
      },
      1_000,
    ],
    ['Retry-After before the resets', { 'retry-after': '2', 'ratelimit-reset': '3600' }, 2_000],
    [
      'a window with requests left says nothing',
      { 'ratelimit-reset': '3600', 'ratelimit-remaining': '500' },
      undefined,
    ],
  ])('%s', (_what, headers, wait) => {
    expect(readRateLimits(headers, NOW).retryAfterMs).toBe(wait);
  });

  test("dates are relative to the service's clock", async () => {
    const answer = json('', 429, {
      date: 'Fri, 20 Nov 2026 08:00:00 GMT',
      'retry-after': 'Fri, 20 Nov 2026 08:01:00 GMT',
    });
    const client = await clientUnderTest({ answer });
    expect(await failureOf(groups(client))).toMatchObject({ retryAfterMs: 60_000 });
  });

  test('the remaining requests are reported, for each window', async () => {
    const client = await clientUnderTest({
      answer: json('[]', 200, { 'RateLimit-Remaining': '880', 'Burst-RateLimit-Remaining': '7' }),
    });
    await groups(client);
    expect(client.eventsOf('api.rate_limit')).toEqual([
      { type: 'api.rate_limit', account: 'production', api: 'message', window: 'burst', remaining: 7 },
      { type: 'api.rate_limit', account: 'production', api: 'message', window: 'day', remaining: 880 },
    ]);
  });
});
