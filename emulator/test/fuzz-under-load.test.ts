/**
 * Malformed requests while messages are delivered, time moves, the service has faults and the accounts are at their
 * limits. Each request gets the expected response, and all invariants hold afterwards. The long form is in test/soak.
 */
import { expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { httpSink } from '../../test/support/http-sink.ts';
import type { Credentials } from '../../test/support/emulator-fuzz/draft.ts';
import { brokenInvariants } from '../../test/support/emulator-fuzz/invariants.ts';
import { newTally, runCases } from '../../test/support/emulator-fuzz/run.ts';
import { MAX_BODY_BYTES } from '../../test/support/emulator-fuzz/spoil-body.ts';
import { asItsPathSays } from '../../test/support/emulator-fuzz/load.ts';
import { ACCOUNT, START, TOKEN, world } from './world.ts';

const CREDENTIALS: Credentials = { token: TOKEN, management: 'ops@example.com:pass:word', accountId: 'managed' };

test.each([
  ['the free plan', { plan: 'free' }],
  ['a budget that is soon spent', { plan: 'paid', budgetUsd: 0.001 }],
] as const)('on %s', async (_what, limited) => {
  const sink = await httpSink(asItsPathSays);
  const { emulator } = await world({
    clock: systemClock,
    startAt: START,
    time: 'virtual',
    control: true,
    enforceLimits: true,
    logRetentionMs: 400 * 86_400_000,
    maxBodyBytes: MAX_BODY_BYTES,
    accounts: [
      { id: ACCOUNT, token: TOKEN, ...limited },
      { id: CREDENTIALS.accountId, token: 'token-2' },
    ],
  });
  const tally = newTally();
  await runCases(emulator, tally, { credentials: CREDENTIALS, firstSeed: 77, cases: 250, atOnce: 8, sink: sink.url });
  expect(tally.found).toEqual([]);
  expect(sink.requests.length).toBeGreaterThan(20);
  // The load reached the limits.
  expect((tally.statuses.get(429) ?? 0) + (tally.statuses.get(412) ?? 0)).toBeGreaterThan(0);
  expect(await brokenInvariants(emulator, CREDENTIALS)).toEqual([]);
});
