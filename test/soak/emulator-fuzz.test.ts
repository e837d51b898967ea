/**
 * Runs the fuzzers of emulator/test for SOAK_SECONDS (default 180), from new seeds. The fuzzers alternate between alone
 * and under load, with one emulator after the other. A failure names its seed.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { runEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import type { Credentials } from '../support/emulator-fuzz/draft.ts';
import { goodCase } from '../support/emulator-fuzz/fuzz-case.ts';
import { brokenInvariants } from '../support/emulator-fuzz/invariants.ts';
import { asItsPathSays } from '../support/emulator-fuzz/load.ts';
import { OPERATION_NAMES } from '../support/emulator-fuzz/operations.ts';
import { sendRaw } from '../support/emulator-fuzz/raw-client.ts';
import { newTally, runCases } from '../support/emulator-fuzz/run.ts';
import { MAX_BODY_BYTES } from '../support/emulator-fuzz/spoil-body.ts';
import { httpSink } from '../support/http-sink.ts';

const CREDENTIALS: Credentials = { token: 'token-1', management: 'user:password', accountId: 'managed' };
const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 180);
const AT_ONCE = 16;
const CASES_PER_EMULATOR = 6_000;
/** Maximum memory that an emulator may leave allocated. */
const MOST_GROWTH_BYTES = 100_000_000;

const OPTIONS: RunOptions = {
  clock: systemClock,
  random: seededRandom(7),
  listen: { host: '127.0.0.1', port: 0 },
  startAt: Date.UTC(2026, 10, 20, 12),
  time: 'virtual',
  control: true,
  accounts: [],
  management: { username: 'user', password: 'password' },
  maxBodyBytes: MAX_BODY_BYTES,
  logRetentionMs: 400 * 86_400_000,
};
const LIMITED = [{ plan: 'free' }, { plan: 'paid', budgetUsd: 0.02 }, { plan: 'paid' }] as const;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

test(`malformed requests for ${SECONDS} seconds`, { timeout: (SECONDS + 120) * 1_000 }, async () => {
  const until = performance.now() + SECONDS * 1_000;
  const first = Math.floor(Math.random() * 1e9);
  const tally = newTally();
  const errors: unknown[] = [];
  const sink = await httpSink(asItsPathSays);
  const heaps: number[] = [];
  for (let round = 0; performance.now() < until && tally.found.length === 0; round++) {
    const loaded = round % 2 === 1;
    await using emulator = await runEmulator({
      ...OPTIONS,
      enforceLimits: loaded,
      accounts: [
        { id: 'acc-1', token: CREDENTIALS.token, ...(loaded && LIMITED[(round >> 1) % LIMITED.length]) },
        { id: CREDENTIALS.accountId, token: 'token-2' },
      ],
      onError: (error) => void errors.push(error),
    });
    const firstSeed = first + round * CASES_PER_EMULATOR;
    const common = { credentials: CREDENTIALS, firstSeed, cases: CASES_PER_EMULATOR, atOnce: AT_ONCE, until };
    await runCases(emulator, tally, { ...common, ...(loaded && { sink: sink.url }) });
    if (loaded) tally.found.push(...(await brokenInvariants(emulator, CREDENTIALS)));
    for (const name of OPERATION_NAMES) {
      const [answer] = await sendRaw(emulator.url, goodCase(name, CREDENTIALS));
      // The end of the tokens and the reset are among them.
      if (![200, 404].includes(answer!.status))
        tally.found.push(`${name} afterwards: ${answer!.status} ${answer!.body}`);
    }
    sink.requests.length = 0;
    await emulator.stop();
    heaps.push(heapBytes());
  }
  const statuses = [...tally.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  const slowest = [...tally.slowestMs]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([name, ms]) => `${name} ${Math.round(ms)} ms`);
  const megabytes = heaps.map((bytes) => Math.round(bytes / 1e6)).join(' ');
  process.stdout.write(
    `${tally.sent} requests from seed ${first}, slowest ${slowest.join(', ')}; ${statuses.join(', ')}; ` +
      `heap after each emulator, MB: ${megabytes}\n`,
  );
  expect(tally.found).toEqual([]);
  expect(errors).toEqual([]);
  expect(heaps.at(-1)! - heaps[0]!).toBeLessThan(MOST_GROWTH_BYTES);
});
