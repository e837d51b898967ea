/** Operations that must be sent by the replica that owns the account. */
import { expect, test } from 'vitest';
import { routedOperations } from '#app/routed-operations.ts';
import type { Performed } from '#operate/operations/perform.ts';
import { operationNamed } from '#service/operations.ts';

const RETRIGGER = {
  dlqId: 'dlq-1',
  workflowRunId: 'opsd-1',
  workflowUrl: 'https://app.example.com/invoice',
  reason: 'why',
  bodyBytes: 1,
  bodySha256: '0',
  isEdited: true,
};

test('the body of a retrigger is not carried to the owner of its account by the store', async () => {
  const carried: string[] = [];
  const sent: string[] = [];
  let isHere = false;
  const routing = {
    isHere: () => isHere,
    ownerOf: () => 'opsd-b',
    run: async ({ kind }: { readonly kind: string }) => void carried.push(kind),
  };
  const operate = routedOperations({
    operate: async ({ name }) => (sent.push(name), {} as Performed),
    generation: () => ({ whole: { accounts: [{ name: 'production' }] } }) as never,
    routing: routing as never,
  });
  const signal = new AbortController().signal;
  const asked = {
    given: { body: 'secret' },
    retrigger: RETRIGGER,
    isLocal: true,
    signal,
    allow: () => ({ by: 'kim' }),
  };
  const trigger = operationNamed('trigger')!;
  await expect(operate(trigger, asked)).rejects.toThrow(
    'the body must not leave the replica that owns account production: opsd-b. Run it there, over its unix socket; nothing was sent',
  );
  isHere = true;
  await operate(trigger, asked);
  expect([sent, carried]).toEqual([['trigger'], []]);
});
