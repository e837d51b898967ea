/** The sample traffic against the embedded service, and against faulty services. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import type { Fact } from '#emulator/statistics/facts.ts';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { SAMPLE_URL_GROUPS, sampleMessage, type SampleKind } from '#emulator/sample/messages.ts';
import { startSampleTraffic } from '#emulator/sample/traffic.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { until } from '../../../test/support/until.ts';

const ACCOUNT = 'acc-demo';
const MANAGEMENT = { username: 'ops@example.com', password: 'secret-password' };

const isSend = (path: string): boolean => /^\/v2\/(?:publish|trigger)\//.test(path);

const setup = (emulatorUrl: string, headerPrefix = 'Svc') => ({
  emulatorUrl,
  token: 'demo-token',
  headerPrefix,
  management: { ...MANAGEMENT, accountId: ACCOUNT },
  random: seededRandom(3),
});

async function world(headerPrefix = 'Svc') {
  let skippedMs = 0;
  // Failures at the destinations recover after some seconds. The clock skips them.
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
  const destinations = await startSampleDestinations({ clock, random: seededRandom(1) });
  const emulator = await runEmulator({
    clock: systemClock,
    random: seededRandom(2),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: ACCOUNT, token: 'demo-token' }],
    management: MANAGEMENT,
    hosts: destinations.hosts,
    headerPrefix,
  });
  const facts: Fact[] = [];
  emulator.onFact((_account, fact) => facts.push(fact));
  const traffic = await startSampleTraffic({ ...setup(emulator.url, headerPrefix), clock: systemClock });
  onTestFinished(async () => {
    await traffic.stop();
    await emulator.stop();
    await destinations.stop();
  });
  const skip = (ms: number): void => void (skippedMs += ms);
  return { emulator, traffic, facts, skip };
}

const failedRuns = (emulator: RunningEmulator, status: number, label: string) =>
  emulator.workflowDlq(ACCOUNT).filter((run) => run.lastStatus === status && run.labels.includes(label));

describe('against the embedded service', () => {
  test('every kind of outcome occurs among the first hundred messages', async () => {
    const { emulator, traffic, facts } = await world('X-Brand');
    await until({ what: 'a failed run that trying again may mend' }, () =>
      failedRuns(emulator, 503, 'billing').some((run) => !run.labels.includes('no-auto')),
    );
    await until({ what: 'a failed run that is wrong for good' }, () => failedRuns(emulator, 422, 'billing').length > 0);
    await until({ what: 'a failed run that nobody may touch' }, () => failedRuns(emulator, 503, 'no-auto').length > 0);
    await until({ what: 'a message in the DLQ' }, () =>
      emulator.messages(ACCOUNT).some((message) => message.dlqId !== undefined && message.lastStatus === 400),
    );
    await until({ what: 'deliveries, retries and failures' }, () =>
      (['delivered', 'retry', 'failed'] as const).every((outcome) =>
        facts.some((fact) => fact.kind === 'attempt' && fact.outcome === outcome),
      ),
    );
    expect(traffic.counts().accepted).toBeLessThan(100);

    expect(emulator.accounts.byId(ACCOUNT)!.budgetUsd).toBe(150);
    expect(emulator.indexes.get(traffic.searchIndexId)).toMatchObject({ name: 'products' });
    expect(emulator.indexes.vectorStats(traffic.vectorIndexId, '1h')).toBeDefined();
    expect(traffic.urlGroups).toEqual(Object.keys(SAMPLE_URL_GROUPS));
    const messages = emulator.messages(ACCOUNT);
    expect(messages.filter((message) => message.topicName === 'order-events').length).toBeGreaterThanOrEqual(3);
    expect(messages.some((message) => message.flowControlKey === 'billing')).toBe(true);
    expect(traffic.counts().refused).toBe(0);
  });

  test('a resumed run is delivered again, and succeeds once its cause is fixed', async () => {
    const { emulator, skip } = await world();
    const run = await until({ what: 'a failed run' }, () =>
      failedRuns(emulator, 503, 'billing').find((one) => !one.labels.includes('no-auto')),
    );
    const answer = await fetch(`${emulator.url}/v2/workflows/dlq/resume?dlqIds=${run.dlqId}`, {
      method: 'POST',
      headers: { authorization: 'Bearer demo-token', 'svc-retries': '5', 'svc-retry-delay': '200' },
    });
    const body = (await answer.json()) as { readonly workflowRuns: readonly { readonly workflowRunId: string }[] };
    const resumed = () =>
      emulator.messages(ACCOUNT).find((one) => one.workflowRunId === body.workflowRuns[0]!.workflowRunId)!;
    const ended = await until({ what: 'the resumed run is delivered' }, () => {
      skip(1_000);
      return resumed().state === 'DELIVERED' && resumed();
    });
    expect(ended.lastStatus).toBe(200);
  });
});

describe('against a faulty service', () => {
  /** Starts a service whose time stops until a move, and that accepts the preparations. */
  async function standing(status: () => number) {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    const sink = await httpSink((request, response) => {
      response.writeHead(isSend(request.url) ? status() : 200, { 'content-type': 'application/json' });
      response.end('{"id":"idx"}');
    });
    const traffic = await startSampleTraffic({ ...setup(sink.url), clock });
    onTestFinished(() => traffic.stop());
    const answered = async (): Promise<void> => {
      while (traffic.counts().inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
    };
    /** Moves time in steps. In each step, every sent request gets a response. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 25) {
        await clock.advance(25);
        await answered();
      }
    };
    await answered();
    return { clock, sink, traffic, pass };
  }

  test('it pauses after an error, longer after each further one, and continues when accepted again', async () => {
    let status = 429;
    const { clock, traffic, pass } = await standing(() => status);
    /** Returns the gaps between the next errors, in half seconds. */
    const gaps = async (count: number): Promise<number[]> => {
      const times: number[] = [];
      for (let seen = traffic.counts().refused - 1; times.length <= count; await pass(25)) {
        if (traffic.counts().refused > seen) times.push(clock.monotonic());
        seen = traffic.counts().refused;
      }
      return times.slice(1).map((at, index) => Math.floor((at - times[index]!) / 500));
    };
    expect(await gaps(4)).toEqual([1, 2, 4, 8]);
    expect(traffic.counts()).toMatchObject({ refused: 5, accepted: 0 });
    status = 200;
    await pass(9_000);
    expect(traffic.counts().accepted).toBeGreaterThan(1);
    expect(traffic.counts().refused).toBe(5);
    status = 503;
    while (traffic.counts().refused === 5) await pass(25);
    expect(await gaps(2)).toEqual([1, 2]);
  });

  test('some messages a second, bursts that fill the flow-control keys, and deletion of old dead letters', async () => {
    const { clock, sink, traffic, pass } = await standing(() => 200);
    await pass(100_000);
    expect(traffic.counts().accepted / 100).toBeGreaterThan(4);
    expect(traffic.counts().accepted / 100).toBeLessThan(13);
    const keys = sink.requests.map((request) => request.headers['svc-flow-control-key']);
    let longest = 0;
    for (let index = 0, run = 0; index < keys.length; index++) {
      run = keys[index] === 'email' ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
    expect(longest).toBeGreaterThan(30);

    const deletes = sink.requests.filter((request) => request.method === 'DELETE');
    expect(new Set(deletes.map((request) => request.url.split('?')[0]))).toEqual(
      new Set(['/v2/dlq', '/v2/workflows/dlq']),
    );
    for (const { url } of deletes) {
      const query = new URL(url, sink.url).searchParams;
      expect(query.get('count')).toBe('100');
      expect(Number(query.get('toDate'))).toBeGreaterThan(Date.UTC(2026, 0, 1));
      expect(Number(query.get('toDate'))).toBeLessThanOrEqual(clock.now() - 3_600_000);
    }
  });

  test('stopping aborts requests in progress and leaves nothing behind', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    const sink = await httpSink((request, response) => {
      // Publishes get no response.
      if (!isSend(request.url)) response.end('{"id":"idx"}');
    });
    const abort = new AbortController();
    const byHand = await startSampleTraffic({ ...setup(sink.url), clock });
    const bySignal = await startSampleTraffic({ ...setup(sink.url), clock, signal: abort.signal });
    await clock.advance(60_000);
    expect(clock.timers).toBeGreaterThan(0);
    await byHand.stop();
    await byHand.stop();
    abort.abort(new Error('enough'));
    expect(clock.timers).toBe(0);
    await bySignal.stop();
    const seen = sink.requests.length;
    await clock.advance(60_000);
    expect(sink.requests).toHaveLength(seen);
    expect(byHand.counts().refused).toBe(0);
  });

  test('never more than eight requests are in progress', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    const sink = await httpSink((request, response) => {
      if (!isSend(request.url)) response.end('{"id":"idx"}');
    });
    const traffic = await startSampleTraffic({ ...setup(sink.url), clock });
    onTestFinished(() => traffic.stop());
    const publishes = () => sink.requests.filter((request) => isSend(request.url)).length;
    await clock.advance(30_000);
    await until({ what: 'eight requests have arrived' }, () => publishes() === 8);
    await clock.advance(30_000);
    expect(publishes()).toBe(8);
    expect(traffic.counts().inFlight).toBe(8);
  });

  test('a service that rejects the preparations is reported, without credentials', async () => {
    const clock = new ManualClock(0);
    const sink = await httpSink((_request, response) => {
      response.writeHead(403);
      response.end('{"error":"read-only"}');
    });
    const message = await startSampleTraffic({ ...setup(sink.url), clock }).then(
      () => '',
      (error: Error) => `${error.message} ${error.stack}`,
    );
    expect(message).toContain('POST /v2/topics/order-events/endpoints answered 403');
    expect(message).not.toMatch(/demo-token|secret-password|Basic|Bearer/);
    expect(clock.timers).toBe(0);
  });

  test('an abort during the preparations ends them with the reason', async () => {
    const sink = await httpSink(() => undefined);
    const abort = new AbortController();
    const starting = startSampleTraffic({ ...setup(sink.url), clock: new ManualClock(0), signal: abort.signal });
    await until({ what: 'the first request has arrived' }, () => sink.requests.length === 1);
    abort.abort(new Error('enough'));
    await expect(starting).rejects.toThrow('enough');
    await expect(
      startSampleTraffic({ ...setup(sink.url), clock: new ManualClock(0), signal: abort.signal }),
    ).rejects.toThrow('enough');
  });
});

describe('sample messages', () => {
  const random = seededRandom(5);
  const kinds: readonly SampleKind[] = ['order', 'newsletter', 'charge', 'invoice', 'manualInvoice', 'badRecord'];

  test.each(kinds)('%s has labels, a tenant, a traceparent and short retries', (kind) => {
    const { headers } = sampleMessage(kind, random);
    expect(headers['Label']).toMatch(/^[a-z-]+(?:,[a-z-]+)*,tenant:\d\d$/);
    expect(headers['Forward-Traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(Number(headers['Retries'])).toBeLessThanOrEqual(3);
    expect(headers['Retry-Delay'] !== undefined || headers['Retries'] === '0').toBe(true);
    expect(Object.keys(headers).includes('Flow-Control-Key')).toBe(['newsletter', 'charge'].includes(kind));
  });
});
