import { keepAlive } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { CommandError, EXIT, type Call, type Command } from '../command.ts';
import type { reload } from '#operate/contract/control.ts';
import type { AnswerOf } from '#operate/contract/route.ts';
import { request } from '../daemon-request.ts';
import { isNobodyThere, type DaemonCall } from '../daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { printable } from '../output.ts';

const ASK_EVERY_MS = 200;
/** Retry time while the daemon does not listen: it may be replacing its configuration after a change of its files. */
const AWAY_MS = 5_000;
/** Time limit for the new configuration. The daemon first finishes the request in flight. */
const LONGEST_MS = 60_000;

export const reloadCommand: Command = {
  name: 'reload',
  summary: 'Load the configuration of the running daemon again.',
  options: DAEMON_OPTIONS,
  details:
    'Same as SIGHUP. The daemon also detects changed files within seconds. An invalid configuration changes nothing, and ' +
    'its errors are printed with their lines. If the errors may concern policies, the running policies stay in audit until ' +
    'they are fixed. Waits until the daemon runs with the new configuration.',
  examples: ['opsd reload', 'opsd reload --config /etc/opsd/config.yaml'],
  async run(call) {
    const daemon = await findDaemon(call);
    const { changed, webConfig, hash } = await ask(daemon, call);
    if (changed) await runsWith(hash, daemon, call);
    let said = 'The configuration has not changed.';
    if (changed) said = 'The daemon runs with the changed configuration.';
    else if (webConfig) said = 'The changed web configuration files apply now; nothing else has changed.';
    call.io.stdout.write(`${said}\n`);
    return EXIT.ok;
  },
};

/** @throws {CommandError} if the daemon does not respond within the retry time, or the configuration is invalid */
async function ask(daemon: DaemonCall, { io }: Call): Promise<AnswerOf<typeof reload>> {
  using _alive = keepAlive();
  const until = io.clock.monotonic() + AWAY_MS;
  for (;;) {
    try {
      return await request(daemon, 'POST /-/reload', {}, 'changed', 'hash');
    } catch (error) {
      if (!isNobodyThere(error) || io.clock.monotonic() >= until) throw error;
    }
    await sleep(io.clock, ASK_EVERY_MS, io.signal);
  }
}

async function runsWith(hash: string, daemon: DaemonCall, { io }: Call): Promise<void> {
  using _alive = keepAlive();
  const until = io.clock.monotonic() + LONGEST_MS;
  let last: CommandError | undefined;
  let failure: string | undefined;
  while (io.clock.monotonic() < until) {
    await sleep(io.clock, ASK_EVERY_MS, io.signal);
    try {
      if ((await request(daemon, 'GET /api/v1/status')).configHash === hash) return;
      const { conditions } = await request(daemon, 'GET /api/v1/conditions', {}, 'conditions');
      failure = conditions.find(({ key }) => key === 'reload')?.detail;
    } catch (error) {
      // The daemon does not respond while it replaces its configuration.
      if (!(error instanceof CommandError)) throw error;
      last = error;
    }
    if (failure !== undefined) throw new CommandError(printable(failure));
  }
  throw new CommandError('the daemon has not loaded the configuration within a minute; see its log', {
    cause: last,
  });
}
