/** The demo in this process, in virtual time, which passes as fast as it can. */
import { subscribe } from 'node:diagnostics_channel';
import { startApp } from '#app/daemon.ts';
import { runUntilStopped } from '#app/launch.ts';
import type { StartDaemon } from '#app/options.ts';
import { runDemo } from '#cli/commands/demo-program.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const STEP_MS = 250;
/** Turns of the event loop without a request or response. After them, the next event waits for the clock. */
const QUIET_TURNS = 100;

/** As the machine's clock, the time is in whole milliseconds. */
export class VirtualClock extends ManualClock {
  override now(): number {
    return Math.floor(super.now());
  }
}

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
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (traffic !== seen) quiet = 0;
    seen = traffic;
  }
}

/** Lets virtual time pass. Requests end before the clock moves on. */
export async function passTime(clock: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await clock.advance(STEP_MS);
    await settled();
  }
}

/** Starts the demo with a seed. Its addresses are on `output`. */
export async function startVirtualDemo(clock: VirtualClock, signal: AbortSignal) {
  const started = Promise.withResolvers<void>();
  let output = '';
  const io = {
    stdout: { write: (text: string) => void (output += text) } as unknown as NodeJS.WriteStream,
    stderr: { write: () => true } as unknown as NodeJS.WriteStream,
    env: process.env,
    signal,
    clock,
    readInput: () => Promise.resolve(''),
  };
  const start: StartDaemon = async (config, options) => {
    const daemon = await startApp(config, { ...options, random: () => 0.5 });
    setImmediate(started.resolve);
    return daemon;
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const ended = runDemo({ listen, seed: 1 }, io, (run) => runUntilStopped(run, io, start));
  ended.catch(started.reject);
  await started.promise;
  return { output, ended };
}
