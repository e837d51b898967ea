/** Invariants for any responses and broken connections: no second delivery after a 2xx, and one outcome per message. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StepDetails } from '#emulator/types/public.ts';
import { ACCOUNT, allLogs, world } from '../world.ts';

const TIMEOUT_MS = 10_000;
const ENDS = new Set(['DELIVERED', 'FAILED', 'CANCELLED']);

const step: fc.Arbitrary<StepDetails> = fc.record(
  {
    status: fc.constantFrom(200, 201, 204, 299, 300, 302, 400, 404, 429, 489, 500, 503),
    fault: fc.constantFrom('refuse', 'reset', 'hang', 'cut'),
    body: fc.constantFrom('', 'said the destination'),
    afterMs: fc.constantFrom(0, 0, 1, 9_999, 10_001, 30_000),
    // The status arrives at once, the rest of the response late or never.
    bodyMs: fc.constantFrom(0, 0, 5_000, 60_000),
    retryAfter: fc.constantFrom(0, 1, 60, 'soon'),
    nonRetryable: fc.boolean(),
  },
  { requiredKeys: ['status'] },
);

const message = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  retries: fc.nat(4),
  workflow: fc.boolean(),
  key: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
  callbacks: fc.boolean(),
  cancelAfterMs: fc.option(fc.nat(60_000), { nil: undefined, freq: 5 }),
});

type Script = typeof message extends fc.Arbitrary<infer T> ? T : never;

/** Returns true if the service has received a status of 2xx by the end of the step. */
function accepts({ status = 200, fault, afterMs = 0 }: StepDetails): boolean {
  return status < 300 && (fault === undefined || fault === 'cut') && afterMs < TIMEOUT_MS;
}

function headersOf({ retries, workflow, key, callbacks }: Script, index: number): Record<string, string> {
  return {
    'Svc-Retries': String(retries),
    'Svc-Retry-Delay': '3000 * (1 + retried)',
    ...(!workflow && { 'Svc-Timeout': `${TIMEOUT_MS / 1_000}s` }),
    ...(!workflow && callbacks && { 'Svc-Callback': `http://told-${index}.example/` }),
    ...(callbacks && { 'Svc-Failure-Callback': `http://told-${index}.example/failed` }),
    ...(key !== undefined && {
      'Svc-Flow-Control-Key': key,
      'Svc-Flow-Control-Value': 'parallelism=1, rate=2, period=10',
    }),
  };
}

describe('whatever destinations respond and however connections break', () => {
  test('nothing is delivered again after a 2xx, and each message has one outcome', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 6 }), async (scripts) => {
        const service = await world({ switches: { failureFunction: 'on' } });
        await using emulator = service.emulator;
        const ids: string[] = [];
        for (const [index, script] of scripts.entries()) {
          await emulator.destinations.script(`to-${index}.example`, script.steps);
          await emulator.destinations.script(`told-${index}.example`, script.steps.toReversed());
          const path = `/v2/${script.workflow ? 'trigger' : 'publish'}/https://to-${index}.example/`;
          const answer = await service.call('POST', path, { headers: headersOf(script, index), body: `${index}` });
          expect(answer.status).toBe(200);
          const { id } = emulator.messages(ACCOUNT).findLast(({ url }) => url.includes(`//to-${index}.`))!;
          ids.push(id);
          const { cancelAfterMs } = script;
          if (cancelAfterMs !== undefined)
            service.clock.after(cancelAfterMs, () => void emulator.cancelMessage(ACCOUNT, id));
        }
        await service.drain();

        const entries = await allLogs(service);
        const messages = new Map(emulator.messages(ACCOUNT).map((known) => [known.id, known]));
        // Includes callbacks and failure functions.
        for (const { id, state, attempts } of messages.values()) {
          const states = entries.filter((entry) => entry.messageId === id).map((entry) => entry.state!);
          expect(states.filter((name) => ENDS.has(name))).toEqual([state]);
          expect(states[0]).toBe(state);
          expect(states.filter((name) => name === 'ACTIVE')).toHaveLength(attempts);
        }
        for (const [index, { steps, retries, workflow }] of scripts.entries()) {
          const { state, attempts } = messages.get(ids[index]!)!;
          const played = Array.from({ length: attempts }, (_, attempt) => steps[Math.min(attempt, steps.length - 1)]!);
          // The timeout of a workflow is the plan's, which is longer than any of these steps.
          const accepted = played.findIndex((each) => accepts(workflow ? { ...each, afterMs: 0 } : each));
          if (accepted === -1) expect(state).not.toBe('DELIVERED');
          else expect([accepted, state]).toEqual([attempts - 1, 'DELIVERED']);
          expect(attempts).toBeLessThanOrEqual(1 + retries);
          const arrived = emulator.destinations
            .requests(`to-${index}.example`)
            .filter(({ headers }) => headers['svc-message-id'] === ids[index]);
          const reached = [...played.keys()].filter((attempt) => played[attempt]!.fault !== 'refuse');
          expect(arrived.map(({ headers }) => Number(headers['svc-retried']))).toEqual(reached);
        }
        expect(service.clock.timers).toBe(0);
      }),
      { numRuns: 25 },
    );
  });
});
