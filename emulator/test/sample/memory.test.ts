/** The state of the demo's service is bounded by the log, which is full within its first hour. */
import { expect, onTestFinished, test } from 'vitest';
import { DEMO_LOG_MAX_ENTRIES } from '../../../src/cli/commands/demo-program.ts';
import { runEmulator } from '#emulator/emulator.ts';
import { DROPPED_TOGETHER } from '#emulator/state/log.ts';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { startSampleTraffic } from '#emulator/sample/traffic.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { logsUntil } from '../../../test/support/service.ts';

const ACCOUNT = { id: 'acc-demo', token: 'demo-token' };
const MINUTE = 60_000;
/** Period of the traffic's rate. */
const SWING = 4 * MINUTE;

/** Starts the demo's service and its traffic, on a clock that the test moves. */
async function demo(logMaxEntries: number) {
  const clock = new ManualClock(Date.UTC(2026, 10, 20, 9));
  const random = seededRandom(1);
  const management = { username: 'demo', password: 'demo-password' };
  const destinations = await startSampleDestinations({ clock, random });
  const emulator = await runEmulator({
    clock,
    random,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [ACCOUNT],
    management,
    hosts: destinations.hosts,
    logMaxEntries,
  });
  const traffic = await startSampleTraffic({
    emulatorUrl: emulator.url,
    token: ACCOUNT.token,
    headerPrefix: 'Svc',
    management: { ...management, accountId: ACCOUNT.id },
    clock,
    random,
  });
  onTestFinished(async () => {
    await traffic.stop();
    await emulator.stop();
    await destinations.stop();
  });
  let entries = 0;
  emulator.onFact((_account, { kind }) => {
    // An attempt has at least one entry at its start and one at its end.
    entries += kind === 'attempt' ? 2 : 1;
  });
  const logged = async (): Promise<number> =>
    (await logsUntil({ url: emulator.url, token: ACCOUNT.token }, Math.floor(clock.now()))).length;
  return { clock, emulator, logged, entries: () => entries };
}

test('the log of the demo is full within an hour, and nothing more is retained than the log has', async () => {
  const most = 500;
  const { clock, emulator, logged, entries } = await demo(most);
  for (let passed = 0; passed < SWING; passed += MINUTE) {
    await clock.advance(MINUTE);
    const messages = emulator.messages(ACCOUNT.id);
    const open = messages.filter(({ state }) => !['DELIVERED', 'FAILED', 'CANCELLED'].includes(state));
    expect(messages.length).toBeLessThanOrEqual(most + DROPPED_TOGETHER + open.length);
    expect(await logged()).toBeLessThanOrEqual(most + DROPPED_TOGETHER);
    // Timers belong to requests in progress and to the traffic: none leaks.
    expect(clock.timers).toBeLessThan(200 + open.length);
  }
  expect(entries() * (60 / 4)).toBeGreaterThan(DEMO_LOG_MAX_ENTRIES);
});
