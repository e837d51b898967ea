/**
 * The demo in virtual time, which passes as fast as it can. Every ten virtual minutes it collects garbage and writes a
 * line with the memory of the process. Arguments: hours; `both`, or `service` for the embedded service and its traffic
 * without the daemon. Needs --expose-gc.
 */
import { subscribe } from 'node:diagnostics_channel';
import { startApp } from '#app/daemon.ts';
import { runUntilStopped } from '#app/launch.ts';
import type { StartDaemon } from '#app/options.ts';
import { DEMO_LOG_MAX_ENTRIES, runDemo } from '#cli/commands/demo-program.ts';
import { runEmulator } from '#emulator/emulator.ts';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { startSampleTraffic } from '#emulator/sample/traffic.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

const STEP_MS = 250;
const SAMPLE_MS = 600_000;
/** Turns of the event loop without a request or response. After them, the next event waits for the clock. */
const QUIET_TURNS = 10;

const [hours = '24', what = 'both'] = process.argv.slice(2);
const clock = new ManualClock(Date.UTC(2026, 10, 20, 9));
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

let traffic = 0;
for (const channel of [
  'undici:request:create',
  'undici:request:headers',
  'undici:request:trailers',
  'undici:request:error',
  'http.client.request.start',
  'http.client.response.finish',
  'http.server.request.start',
  'http.server.response.finish',
]) {
  subscribe(channel, () => void (traffic += 1));
}

async function settled(): Promise<void> {
  let seen = traffic;
  for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
    await turn();
    if (traffic !== seen) quiet = 0;
    seen = traffic;
  }
}

async function startDemo(): Promise<void> {
  const started = Promise.withResolvers<void>();
  const nowhere = { write: () => true } as unknown as NodeJS.WriteStream;
  const io = {
    stdout: nowhere,
    stderr: nowhere,
    env: process.env,
    signal: new AbortController().signal,
    clock,
    readInput: () => Promise.resolve(''),
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const start: StartDaemon = async (config, options) => {
    const daemon = await startApp(config, options);
    started.resolve();
    return daemon;
  };
  runDemo({ listen, seed: 1 }, io, (run) => runUntilStopped(run, io, start)).catch(started.reject);
  await started.promise;
}

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

await (what === 'both' ? startDemo() : startService());
for (let passed = 0; passed <= Number(hours) * 3_600_000; passed += SAMPLE_MS) {
  globalThis.gc!();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ minutes: passed / 60_000, rss, heapUsed, external })}\n`);
  for (let step = 0; step < SAMPLE_MS / STEP_MS; step += 1) {
    await clock.advance(STEP_MS);
    await settled();
  }
}
process.exit();
