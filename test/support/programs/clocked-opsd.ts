/**
 * `opsd` in a separate process. Its wall clock is OPSD_TEST_AHEAD_MS ahead, and its time passes OPSD_TEST_SPEED times
 * as fast since OPSD_TEST_SINCE; with speed 0 only on command of the test. Everything else is the program.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { runCli } = await import('#cli/cli.ts');
const { runDaemon } = await import('#app/run.ts');
const { startApp } = await import('#app/daemon.ts');
const { runUntilStopped } = await import('#app/launch.ts');
const { startDirect } = await import('#app/direct.ts');
const { fastClock } = await import('../fast-clock.ts');
const { steppedClock } = await import('../stepped-clock.ts');

const number = (name: string): number => Number(process.env[`OPSD_TEST_${name}`]);
const [aheadMs, speed, since] = [number('AHEAD_MS'), number('SPEED'), number('SINCE')];
const clock = speed === 0 ? steppedClock(since) : fastClock({ speed, since });
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
const io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: stop.signal,
  readInput: () => Promise.resolve(''),
  clock: {
    now: () => clock.now() + aheadMs,
    monotonic: () => clock.monotonic(),
    after: (ms: number, run: () => void) => clock.after(ms, run),
  },
};
process.exitCode = await runCli(process.argv.slice(2), io, {
  run: (options) => runDaemon({ ...options, onHangup: () => ({ [Symbol.dispose]: () => undefined }) }, io, startApp),
  async demo(options) {
    const { runDemo } = await import('#cli/commands/demo-program.ts');
    return runDemo(options, io, (run) => runUntilStopped(run, io, startApp));
  },
  direct: (options) => startDirect(options, io, startApp),
});
process.once('beforeExit', () => process.exit());
