/**
 * `opsd run`: the daemon of a configuration, and its exchange when that changes. Everything that can be known to fail
 * is tried before the present daemon is touched: the configuration is loaded and checked, its store and its addresses
 * are tried. Then the daemon ends as it does on SIGTERM, and one with the new configuration starts in the same process.
 */
import type { Config } from '#config/config.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { keepAlive } from '#foundation/platform/keep-alive.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';
import { launch, type Launched, type ProcessIo } from './launch.ts';
import type { Daemon, Handover, StartDaemon } from './options.ts';
import { Reloader } from './reloader.ts';

/** What runs: the configuration as it was loaded, and the daemon. */
interface Running extends Launched {
  readonly config: Config;
}

export interface RunOptions {
  readonly config: Config;
  readonly path: string;
  /** Calls whenever the configuration is to be loaded again. */
  readonly onHangup: (listener: () => void) => Disposable;
}

/** Runs until the signal, then ends the daemon in order. @returns the exit code */
export async function runDaemon(options: RunOptions, io: ProcessIo, start: StartDaemon): Promise<number> {
  const { path } = options;
  // While the daemon is exchanged nothing else may.
  using _alive = keepAlive();
  using reloader = new Reloader({ path, contents: options.config.contents, env: io.env, clock: io.clock });
  using _hangup = options.onHangup(() => void reloader.request('SIGHUP'));
  const logLines = new Map<string, number>();

  async function begin(config: Config, like: Running | undefined, handed?: Handover): Promise<Running> {
    const run = { config: like === undefined ? config : keepingPorts(config, like), level: config.log.level };
    const launched = await launch(run, io, start, {
      logLines,
      reload: { state: () => reloader.state, request: (by) => reloader.request(by) },
      ...(handed !== undefined && { handed }),
    });
    return { ...launched, config };
  }

  /** The old one has ended when this begins to start another; one of the two runs when it returns. */
  async function exchange(old: Running, config: Config): Promise<Running> {
    await old.daemon[Symbol.asyncDispose]();
    if (io.signal.aborted) return old;
    const handed = old.daemon.handOver();
    try {
      const running = await begin(config, old, handed);
      reloader.good();
      running.daemon.noteReload();
      return running;
    } catch (error) {
      const problem = `${path}: the daemon does not start with it: ${errorMessage(error)}`;
      reloader.bad([problem], config.policyPart !== old.config.policyPart);
      old.logger.error({ problem }, 'the changed configuration does not start; the one before is started again');
      const running = await begin(old.config, old, handed);
      return running;
    }
  }

  let running = await begin(options.config, undefined);
  try {
    for (;;) {
      const by = await reloader.asked(io.signal);
      if (by === undefined) break;
      const { daemon, config } = running;
      const loaded = reloader.load();
      const problems = loaded.ok ? await rehearse(daemon, keepingPorts(loaded.config, running), path) : loaded.problems;
      if (!loaded.ok || problems.length > 0) {
        const part = loaded.ok ? loaded.config.policyPart : loaded.policyPart;
        reloader.bad(problems, part !== config.policyPart);
        daemon.noteReload(by);
        loaded.answer({ ok: false, message: problems.join('\n') });
        continue;
      }
      const { hash } = loaded.config;
      const changed = hash !== config.hash;
      const taken = changed ? { webConfig: false } : takeDoors(daemon, loaded.config, path);
      if ('problem' in taken) {
        reloader.bad([taken.problem], false);
        daemon.noteReload(by);
        loaded.answer({ ok: false, message: taken.problem });
        continue;
      }
      // Where the next one does not start, this one is started again: with the certificates of now.
      if (!changed) running = { ...running, config: loaded.config };
      const { webConfig } = taken;
      if (!webConfig) daemon.tell({ type: 'config.reloaded', by, changed });
      loaded.answer({ ok: true, changed, webConfig, hash });
      if (!changed) {
        reloader.good();
        daemon.noteReload();
        continue;
      }
      running = await exchange(running, loaded.config);
    }
    running.logger.info({ reason: errorMessage(io.signal.reason) }, 'the daemon stops');
  } finally {
    await running.daemon[Symbol.asyncDispose]();
  }
  running.logger.info('the daemon has stopped');
  return 0;
}

type Taken = { /** Whether anything has changed. */ readonly webConfig: boolean } | { readonly problem: string };

function takeDoors(daemon: Daemon, config: Config, path: string): Taken {
  try {
    return { webConfig: daemon.takeDoors(config) };
  } catch (error) {
    return { problem: `${path}: ${errorMessage(error)}` };
  }
}

async function rehearse(daemon: Daemon, config: Config, path: string): Promise<readonly string[]> {
  try {
    await daemon.rehearse(config);
    return [];
  } catch (error) {
    return [`${path}: ${errorMessage(error)}`];
  }
}

/** An address whose port the system chose stays what it is while the configuration says the same of it. */
function keepingPorts(next: Config, { config, daemon }: Running): Config {
  const listen = keepingPort(next.server.listen, config.server.listen, daemon.address);
  const hooks = next.hooks.listen && keepingPort(next.hooks.listen, config.hooks.listen, daemon.hooks);
  const { listen: probesAt } = next.server.probes;
  const probes = probesAt && keepingPort(probesAt, config.server.probes.listen, daemon.probes);
  return {
    ...next,
    server: { ...next.server, listen, probes: { ...(probes !== undefined && { listen: probes }) } },
    hooks: { ...next.hooks, ...(hooks !== undefined && { listen: hooks }) },
  };
}

function keepingPort(next: ListenAddress, before: ListenAddress | undefined, bound: string | undefined): ListenAddress {
  if (next.port !== 0 || before?.port !== 0 || before.host !== next.host || bound === undefined) return next;
  return { ...next, port: Number(new URL(bound).port) };
}
