/**
 * The process: arguments, signals to one AbortController, exit code. Nothing here ends the process but a second
 * signal; otherwise the event loop empties and the process leaves with `process.exitCode`.
 */
import { runCli } from '#operate/cli/cli.ts';
import { systemClock } from '#foundation/platform/clock.ts';

/** One Ctrl-C may arrive twice: from the terminal's process group, and once more from npm. */
const SAME_SIGNAL_MS = 500;

const controller = new AbortController();
let firstSignalAt: number | undefined;

function onSignal(signal: NodeJS.Signals): void {
  const now = systemClock.monotonic();
  if (firstSignalAt === undefined) {
    firstSignalAt = now;
    controller.abort(new Error(`stopped by ${signal}`));
  } else if (now - firstSignalAt > SAME_SIGNAL_MS) {
    // The second one means at once: die of it, as a program without handlers would.
    for (const name of SIGNALS) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
for (const name of SIGNALS) process.on(name, onSignal);

/** Elsewhere it means the end, as the system has it. */
function onHangup(listener: () => void): Disposable {
  process.on('SIGHUP', listener);
  return { [Symbol.dispose]: () => void process.off('SIGHUP', listener) };
}

// Whoever reads the output or the log may go away (`opsd metrics | head`); that is no reason to fail.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Questions go to stderr, so that the answer of the command can be piped. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // In the middle of a line Ctrl-C is a key, not a signal.
  terminal.once('SIGINT', () => onSignal('SIGINT'));
  try {
    // Where the input ends, the question has no answer.
    const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    return await Promise.race([terminal.question(question, { signal: controller.signal }), ended]);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    terminal.close();
  }
}

const io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: controller.signal,
  clock: systemClock,
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
};

/** Loaded when a daemon is wanted: the other commands need none of it. */
async function loadDaemon() {
  const [{ startApp }, { runDaemon }, { runUntilStopped }] = await Promise.all([
    import('#app/daemon.ts'),
    import('#app/run.ts'),
    import('#app/launch.ts'),
  ]);
  return { startApp, runDaemon, runUntilStopped };
}

process.exitCode = await runCli(process.argv.slice(2), io, {
  async run(options) {
    const { runDaemon, startApp } = await loadDaemon();
    return runDaemon({ ...options, onHangup }, io, startApp);
  },
  async demo(options) {
    const { runDemo } = await import('#operate/cli/demo-program.ts');
    const { runUntilStopped, startApp } = await loadDaemon();
    return runDemo(options, io, (run) => runUntilStopped(run, io, startApp));
  },
});
// The loop is empty, so this only skips the teardown, in which the handlers are gone already and a late echo of the
// Ctrl-C would still be deadly.
process.once('beforeExit', () => process.exit());
