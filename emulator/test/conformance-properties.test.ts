/** Invariants of the statistics over HTTP. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage } from './conformance-support.ts';
import { ACCOUNT, allLogs, world, type World } from './world.ts';

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
