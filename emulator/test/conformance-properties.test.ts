/** Invariants over HTTP: limits of keys, listings that change while they are read, and sums. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage } from './conformance-support.ts';
import { ACCOUNT, allLogs, START, world, type World } from './world.ts';

const SECOND = 1_000;

const limits = fc
  .record({
    parallelism: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    rate: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    period: fc.integer({ min: 1, max: 10 }),
  })
  .filter(({ parallelism, rate }) => parallelism !== undefined || rate !== undefined);

const job = fc.record({
  key: fc.nat(2),
  delay: fc.nat(15),
  takesMs: fc.integer({ min: 1, max: 6_000 }),
  fails: fc.boolean(),
});

function flowValue({ parallelism, rate, period }: { parallelism?: number; rate?: number; period: number }): string {
  const parts = [
    parallelism !== undefined && `parallelism=${parallelism}`,
    rate !== undefined && `rate=${rate}`,
    rate !== undefined && `period=${period}`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

describe('flow control under random load', () => {
  test('no key ever exceeds its limits at the destination, and its figures are always exact', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(limits, { minLength: 3, maxLength: 3 }),
        fc.array(job, { minLength: 1, maxLength: 20 }),
        async (keys, jobs) => {
          /** State of each job: whether it is at the destination, and its earliest send time. */
          const atDestination = jobs.map(() => false);
          const due: (number | undefined)[] = jobs.map(({ delay }) => delay * SECOND);
          const starts: { readonly key: number; readonly at: number }[] = [];
          const sink = await httpSink((request, response) => {
            const index = Number(request.url.slice(1));
            const { key, takesMs, fails } = jobs[index]!;
            atDestination[index] = true;
            due[index] = undefined;
            starts.push({ key, at: service.clock.monotonic() });
            service.clock.after(takesMs, () => {
              atDestination[index] = false;
              if (fails && request.headers['svc-retried'] === '0') due[index] = service.clock.monotonic() + 2 * SECOND;
              response.writeHead(fails ? 500 : 200).end();
            });
          });
          const service = await world();
          await using _emulator = service.emulator;
          for (const [index, { key, delay }] of jobs.entries()) {
            const headers = {
              'Svc-Delay': `${delay}s`,
              'Svc-Retries': '1',
              'Svc-Retry-Delay': '2000',
              'Svc-Flow-Control-Key': `k${key}`,
              'Svc-Flow-Control-Value': flowValue(keys[key]!),
            };
            expect((await service.call('POST', `/v2/publish/${sink.url}/${index}`, { headers })).status).toBe(200);
          }
          const count = (key: number, is: (index: number) => boolean): number =>
            jobs.filter((one, index) => one.key === key && is(index)).length;
          /** Waits until every active message has reached the destination and every response has returned. */
          const settled = async (): Promise<void> => {
            const active = () => service.emulator.messages(ACCOUNT).filter(({ state }) => state === 'ACTIVE').length;
            while (active() !== atDestination.filter(Boolean).length) await new Promise((next) => setImmediate(next));
          };
          for (;;) {
            await settled();
            const now = service.clock.monotonic();
            for (const [key, { parallelism, rate, period }] of keys.entries()) {
              if (count(key, () => true) === 0) continue;
              const running = count(key, (index) => atDestination[index]!);
              const begun = starts.filter(
                (start) =>
                  start.key === key && Math.floor(start.at / (period * SECOND)) === Math.floor(now / (period * SECOND)),
              ).length;
              if (parallelism !== undefined) expect(running).toBeLessThanOrEqual(parallelism);
              if (rate !== undefined) expect(begun).toBeLessThanOrEqual(rate);
              const { json } = await service.call('GET', `/v2/flowControl/k${key}`);
              expect(json).toMatchObject({
                parallelismCount: running,
                waitListSize: count(key, (index) => due[index] !== undefined && due[index] <= now),
                ...(rate !== undefined && {
                  rateCount: begun,
                  rateMax: rate,
                  ratePeriodStart: START / SECOND + Math.floor(now / (period * SECOND)) * period,
                }),
              });
            }
            const next = service.clock.nextIn;
            if (next === undefined) break;
            await service.clock.advance(next);
          }
          expect(starts).toHaveLength(jobs.reduce((sum, { fails }) => sum + (fails ? 2 : 1), 0));
          for (const [key, { rate, period }] of keys.entries()) {
            const mine = starts.filter((start) => start.key === key);
            const perPeriod = Map.groupBy(mine, ({ at }) => Math.floor(at / (period * SECOND)));
            for (const begun of perPeriod.values()) expect(begun.length).toBeLessThanOrEqual(rate ?? Infinity);
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});

interface Series {
  readonly id: string;
  readonly data_points: readonly { readonly y: number }[];
}

const sum = (points: readonly { readonly y: number }[]): number => points.reduce((total, { y }) => total + y, 0);

/** Returns the sums of the named series over seven days. */
async function sums(service: World, name: string): Promise<Readonly<Record<string, number>>> {
  const { json } = await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}?period=7d`);
  const used = json[name === 'daily_msgsvc_messages' ? 'daily_used' : 'daily_used_workflow'] as Series['data_points'];
  const series = (json[name] as Series[]).map((one) => [one.id, sum(one.data_points)] as const);
  return { ...Object.fromEntries(series), used: sum(used) };
}

describe('sums', () => {
  const message = fc.record({
    workflow: fc.boolean(),
    retries: fc.nat(3),
    failures: fc.nat(4),
    callback: fc.boolean(),
    failureCallback: fc.boolean(),
    canceled: fc.boolean(),
  });

  test('errors = retries + failures, messages = delivered + errors, and each message has one outcome', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 12 }), async (messages) => {
        const service = await world();
        await using _emulator = service.emulator;
        const sink = await httpSink((request, response) => {
          const failures = messages[Number(request.url.slice(1))]?.failures ?? 0;
          response.writeHead(Number(request.headers['svc-retried']) < failures ? 500 : 200).end();
        });
        for (const [index, { workflow, retries, callback, failureCallback, canceled }] of messages.entries()) {
          const headers = {
            'Svc-Retries': String(retries),
            'Svc-Retry-Delay': '600000 * (1 + retried)',
            ...(callback && !workflow && { 'Svc-Callback': `${sink.url}/callback` }),
            ...(failureCallback && { 'Svc-Failure-Callback': `${sink.url}/failed` }),
            ...(canceled && { 'Svc-Delay': '1h' }),
          };
          await service.call('POST', `/v2/${workflow ? 'trigger' : 'publish'}/${sink.url}/${index}`, { headers });
          const id = service.emulator.messages(ACCOUNT).find(({ url }) => url === `${sink.url}/${index}`)!.id;
          if (canceled) service.emulator.cancelMessage(ACCOUNT, id);
        }
        await service.drain();
        const ended = await Promise.all(
          ['daily_msgsvc_messages', 'daily_workflow_messages'].map((name) => sums(service, name)),
        );
        for (const { created, delivered, error, retry, failed, canceled, used } of ended) {
          expect(error).toBe(retry! + failed!);
          expect(used).toBe(delivered! + error!);
          expect(created).toBe(delivered! + failed! + canceled!);
        }
        expect(ended.reduce((total, { used }) => total + used!, 0)).toBe(sink.requests.length);
        const entries = await allLogs(service);
        const count = (state: string): number => entries.filter((entry) => entry.state === state).length;
        const total = (id: string): number => ended.reduce((all, one) => all + one[id]!, 0);
        expect([count('DELIVERED'), count('ERROR'), count('RETRY'), count('FAILED'), count('CANCELLED')]).toEqual(
          ['delivered', 'error', 'retry', 'failed', 'canceled'].map(total),
        );
      }),
      { numRuns: 15 },
    );
  });
});
