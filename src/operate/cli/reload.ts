import { keepAlive } from '#foundation/platform/keep-alive.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { CommandError, EXIT, type Call, type Command } from './command.ts';
import type { Reloaded } from './daemon-client.ts';
import { isNobodyThere, type DaemonCall } from './daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from './daemon-option.ts';
import { printable } from './output.ts';

const ASK_EVERY_MS = 200;
/** A daemon that takes up another change just now, since its files changed, listens to nobody for a moment. */
const AWAY_MS = 5_000;
/** A request that is under way may take so long to end before the new configuration runs. */
const LONGEST_MS = 60_000;

export const reloadCommand: Command = {
  name: 'reload',
  summary: 'Load the configuration of the running daemon again.',
  options: DAEMON_OPTIONS,
  details:
    'The same as SIGHUP; a change of the files is seen within seconds without either. A configuration that is not good\n' +
    'changes nothing, and what is wrong is shown with its line; where policies may have been meant, those that run only\n' +
    'watch until it is mended. Waits until the daemon runs with it.',
  async run(call) {
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const { changed, webConfig, hash } = await ask(daemon, call);
    if (changed) await runsWith(hash, daemon, call);
    let said = 'Nothing has changed.';
    if (changed) said = 'The daemon runs with the changed configuration.';
    else if (webConfig) said = 'The web configuration files hold as they are now; nothing else has changed.';
    call.io.stdout.write(`${said}\n`);
    return EXIT.ok;
  },
};

/** @throws {CommandError} when nobody answers for longer than an exchange usually takes, or the configuration is not good */
async function ask(daemon: DaemonCall, { io }: Call): Promise<Reloaded> {
  const { requestReload } = await import('./daemon-client.ts');
  using _alive = keepAlive();
  const until = io.clock.monotonic() + AWAY_MS;
  for (;;) {
    try {
      return await requestReload(daemon);
    } catch (error) {
      if (!isNobodyThere(error) || io.clock.monotonic() >= until) throw error;
    }
    await sleep(io.clock, ASK_EVERY_MS, io.signal);
  }
}

async function runsWith(hash: string, daemon: DaemonCall, { io }: Call): Promise<void> {
  const { requestRunning } = await import('./daemon-client.ts');
  using _alive = keepAlive();
  const until = io.clock.monotonic() + LONGEST_MS;
  let last: CommandError | undefined;
  let failure: string | undefined;
  while (io.clock.monotonic() < until) {
    await sleep(io.clock, ASK_EVERY_MS, io.signal);
    try {
      const running = await requestRunning(daemon);
      if (running.hash === hash) return;
      failure = running.failure;
    } catch (error) {
      // Nobody answers while it is exchanged.
      if (!(error instanceof CommandError)) throw error;
      last = error;
    }
    if (failure !== undefined) throw new CommandError(printable(failure));
  }
  throw new CommandError('the daemon has not taken up the configuration in a minute; its log says why', {
    cause: last,
  });
}
