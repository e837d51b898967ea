/**
 * The demo in virtual time, which passes as fast as it can. Every ten virtual minutes it collects garbage and writes a
 * line with the memory of the process. Arguments: hours; `both`, or `service` for the embedded service and its traffic
 * without the daemon. Needs --expose-gc.
 */
import { DEMO_LOG_MAX_ENTRIES } from '#cli/commands/demo-program.ts';
import { runEmulator } from '#emulator/emulator.ts';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { startSampleTraffic } from '#emulator/sample/traffic.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { passTime, startVirtualDemo, VirtualClock } from '../virtual-demo.ts';

const SAMPLE_MS = 600_000;

const [hours = '24', what = 'both'] = process.argv.slice(2);
const clock = new VirtualClock(Date.UTC(2026, 10, 20, 9));

async function startService(): Promise<void> {
  const random = seededRandom(1);
  const account = { id: 'acc-demo', token: 'demo-token' };
  const management = { username: 'demo', password: 'demo-password' };
  const { hosts } = await startSampleDestinations({ clock, random });
  const emulator = await runEmulator({
    clock,
    random,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [account],
    management,
    hosts,
    logMaxEntries: DEMO_LOG_MAX_ENTRIES,
  });
  await startSampleTraffic({
    emulatorUrl: emulator.url,
    token: account.token,
    headerPrefix: 'Svc',
    management: { ...management, accountId: account.id },
    clock,
    random,
  });
}

await (what === 'both' ? startVirtualDemo(clock, new AbortController().signal) : startService());
for (let passed = 0; passed <= Number(hours) * 3_600_000; passed += SAMPLE_MS) {
  globalThis.gc!();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ minutes: passed / 60_000, rss, heapUsed, external })}\n`);
  await passTime(clock, SAMPLE_MS);
}
process.exit();
