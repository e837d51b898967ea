/**
 * Process: arguments, signals to one AbortController, exit code. Only a second signal ends the process here. Otherwise
 * the event loop empties and the process exits with `process.exitCode`.
 */
import { runCli } from '#cli/cli.ts';
import { systemClock } from '#foundation/platform/clock.ts';

/** Window for duplicates: one Ctrl-C may arrive twice, from the terminal's process group and from npm. */
const SAME_SIGNAL_MS = 500;

const controller = new AbortController();
let firstSignalAt: number | undefined;

function onSignal(signal: NodeJS.Signals): void {
  const now = systemClock.monotonic();
  if (firstSignalAt === undefined) {
    firstSignalAt = now;
    controller.abort(new Error(`stopped by ${signal}`));
  } else if (now - firstSignalAt > SAME_SIGNAL_MS) {
    // A second signal kills the process, as without handlers.
    for (const name of SIGNALS) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
for (const name of SIGNALS) process.on(name, onSignal);

let reload: (() => void) | undefined;
let isHungUp = false;

/** Handles SIGHUP of `opsd run`. One that arrives during the start is kept for the daemon. */
export function hangUp(): void {
  if (reload === undefined) isHungUp = true;
  else reload();
}

function onHangup(listener: () => void): Disposable {
  reload = listener;
  if (isHungUp) listener();
  return { [Symbol.dispose]: () => (reload = () => undefined) };
}

// The reader of the output or log may disconnect (`opsd metrics | head`), which is not an error.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Asks a question on stderr, so that the output of the command can be piped. */
async function ask(question: string): Promise<string> {
  return answerTo(question, process.stderr);
}

/** Asks for a secret: the terminal echoes nothing. */
async function askSecret(question: string): Promise<string> {
  const { Writable } = await import('node:stream');
  const nowhere = new Writable({ write: (_echo, _encoding, done) => done() });
  // The question follows the reader: without one, the terminal would echo the answer.
  const answer = await answerTo('', nowhere, () => process.stderr.write(question));
  process.stderr.write('\n');
  return answer;
}

async function answerTo(question: string, output: NodeJS.WritableStream, onReady?: () => void): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  onReady?.();
  // While a line is read, Ctrl-C is a key, not a signal.
  terminal.once('SIGINT', () => onSignal('SIGINT'));
  try {
    // If the input ends, there is no answer.
    const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    return await Promise.race([terminal.question(question, { signal: controller.signal }), ended]);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    terminal.close();
  }
}

async function readInput(): Promise<string> {
  const { text } = await import('node:stream/consumers');
  return text(process.stdin);
}

const io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: controller.signal,
  clock: systemClock,
  readInput,
  // In this order: without a terminal, the standard input is not opened (5 ms).
  ...(process.stderr.isTTY && process.stdin.isTTY && { ask, askSecret }),
};

/** Loads the daemon only when it is needed, since other commands do not use it. */
async function loadDaemon() {
  const [{ startApp }, { startDirect }, { runDaemon }, { runUntilStopped }] = await Promise.all([
    import('#app/daemon.ts'),
    import('#app/direct.ts'),
    import('#app/run.ts'),
    import('#app/launch.ts'),
  ]);
  return { startApp, startDirect, runDaemon, runUntilStopped };
}

const ended = runCli(process.argv.slice(2), io, {
  async run(options) {
    const { runDaemon, startApp } = await loadDaemon();
    return runDaemon({ ...options, onHangup }, io, startApp);
  },
  async demo(options) {
    const { runDemo } = await import('#cli/commands/demo-program.ts');
    const { runUntilStopped, startApp } = await loadDaemon();
    return runDemo(options, io, (run) => runUntilStopped(run, io, startApp));
  },
  async direct(options) {
    const { startDirect, startApp } = await loadDaemon();
    return startDirect(options, io, startApp);
  },
});
void ended.then((exitCode) => {
  process.exitCode = exitCode;
});
// The event loop is empty, so this only skips the teardown: its handlers are already gone, and a late echo of Ctrl-C
// would kill the process.
process.once('beforeExit', () => process.exit());
