/** `opsd` in a process of its own whose wall clock is OPSD_TEST_AHEAD_MS ahead; everything else is the program. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { runCli } = await import('#operate/cli/cli.ts');
const { runDaemon } = await import('#operate/cli/run-program.ts');
const { startApp } = await import('#app/daemon.ts');
const { systemClock } = await import('#foundation/platform/clock.ts');

const aheadMs = Number(process.env['OPSD_TEST_AHEAD_MS']);
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));
const io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: stop.signal,
  clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
};
process.exitCode = await runCli(process.argv.slice(2), io, {
  run: (options) => runDaemon({ ...options, onHangup: () => ({ [Symbol.dispose]: () => undefined }) }, io, startApp),
  demo: () => Promise.reject(new Error('there is no demo here')),
});
process.once('beforeExit', () => process.exit());
