/**
 * `opsd run`: the daemon of a configuration, across changes of it. Everything that may fail is checked before the
 * daemon is touched: the configuration, its store and its addresses. Then the daemon applies the change. Only another
 * store or another kind of listener requires a restart of the daemon.
 */
import type { Config } from '#config/config.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { keepAlive } from '#foundation/platform/clock.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { launch, type Launched, type ProcessIo } from './launch.ts';
import type { Handover, StartDaemon } from './options.ts';
import { Reloader } from './reloader.ts';

/** Loaded configuration and running daemon. */
interface Running extends Launched {
  readonly config: Config;
}

export interface RunOptions {
  readonly config: Config;
  readonly path: string;
  /** Calls the listener for each requested reload. */
  readonly onHangup: (listener: () => void) => Disposable;
}

/** Runs until the signal, then stops the daemon in order. @returns the exit code */
export async function runDaemon(options: RunOptions, io: ProcessIo, start: StartDaemon): Promise<number> {
  const { path } = options;
  // During a restart of the daemon nothing else keeps the process alive.
  using _alive = keepAlive();
  using reloader = new Reloader({ path, contents: options.config.contents, env: io.env, clock: io.clock });
  using _hangup = options.onHangup(() => void reloader.request('SIGHUP'));
  const reloads = new Reloads(path, { reloader, io, start });
  let running = await reloads.begin(options.config, undefined);
  try {
    for (;;) {
      const by = await reloader.asked(io.signal);
      if (by === undefined) break;
      running = await reloads.reload(running, by);
    }
    running.logger.info({ reason: errorMessage(io.signal.reason) }, 'daemon stopping');
  } finally {
    await running.daemon[Symbol.asyncDispose]();
  }
  running.logger.info('daemon stopped');
  return 0;
}

interface ReloadsDeps {
  readonly reloader: Reloader;
  readonly io: ProcessIo;
  readonly start: StartDaemon;
}

/** Reloads the configuration, and makes the daemon apply it. */
class Reloads {
  readonly #path: string;
  readonly #deps: ReloadsDeps;
  readonly #logLines = new Map<string, number>();

  constructor(path: string, deps: ReloadsDeps) {
    this.#path = path;
    this.#deps = deps;
  }

  async begin(config: Config, like: Running | undefined, handed?: Handover): Promise<Running> {
    const { reloader, io, start } = this.#deps;
    const run = { config: like === undefined ? config : keepingPorts(config, like), level: config.log.level };
    const launched = await launch(run, io, start, {
      logLines: this.#logLines,
      reload: { state: () => reloader.state, request: (by) => reloader.request(by) },
      handed,
    });
    return { ...launched, config };
  }

  /** @returns the configuration and daemon that run afterwards */
  async reload(running: Running, by: string): Promise<Running> {
    const { reloader } = this.#deps;
    const { daemon, config } = running;
    const loaded = reloader.load();
    const refuse = (problems: readonly string[], mayConcernPolicies: boolean): Running => {
      reloader.bad(problems, mayConcernPolicies);
      daemon.noteReload(by);
      loaded.answer({ ok: false, message: problems.join('\n') });
      return running;
    };
    if (!loaded.ok) return refuse(loaded.problems, loaded.policyPart !== config.policyPart);
    const next = loaded.config;
    const { hash } = next;
    const changed = hash !== config.hash || nameOf(next) !== nameOf(config);
    const mayConcernPolicies = next.policyPart !== config.policyPart;
    const kept = keepingPorts(next, running);
    let webConfig = false;
    try {
      await daemon.rehearse(kept);
    } catch (error) {
      return refuse([this.#problem(error)], mayConcernPolicies);
    }
    try {
      webConfig = !changed && daemon.replaceSecurity(next);
    } catch (error) {
      return refuse([this.#problem(error)], false);
    }
    if (!webConfig) daemon.tell({ type: 'config.reloaded', by, changed });
    loaded.answer({ ok: true, changed, webConfig, hash });
    if (changed) return daemon.startsAnew(kept) ? this.#startAnew(running, next) : this.#exchange(running, next);
    reloader.good();
    daemon.noteReload();
    // If the next one does not start, this one starts again, with the current certificates.
    return { ...running, config: next };
  }

  /** Replaces the configuration. The daemon keeps its store and its addresses. */
  async #exchange(running: Running, next: Config): Promise<Running> {
    const { reloader, io } = this.#deps;
    const isTakenUp = await running.daemon.exchange(keepingPorts(next, running), {
      signal: io.signal,
      onFailed: (why) => this.#failed(running, next, why),
    });
    if (io.signal.aborted) return running;
    if (isTakenUp) reloader.good();
    running.daemon.noteReload();
    if (!isTakenUp) return running;
    running.announce(next);
    return { ...running, config: next };
  }

  /** Restarts: the old daemon ends before the next one starts. On return, one of the two runs. */
  async #startAnew(old: Running, next: Config): Promise<Running> {
    const { reloader, io } = this.#deps;
    await old.daemon[Symbol.asyncDispose]();
    if (io.signal.aborted) return old;
    const handed = old.daemon.handOver();
    try {
      const running = await this.begin(next, old, handed);
      reloader.good();
      running.daemon.noteReload();
      return running;
    } catch (error) {
      this.#failed(old, next, errorMessage(error));
      return this.begin(old.config, old, handed);
    }
  }

  #failed({ config, logger }: Running, next: Config, why: string): void {
    const problem = `${this.#path}: the daemon does not start with this configuration: ${why}`;
    this.#deps.reloader.bad([problem], next.policyPart !== config.policyPart);
    logger.error({ problem }, 'configuration reload failed, restarting with the previous configuration');
  }

  #problem(error: unknown): string {
    return `${this.#path}: ${errorMessage(error)}`;
  }
}

/** Returns the name of the replica, which is no part of the hash. */
function nameOf({ storage }: Config): string | undefined {
  return storage.postgres?.replica;
}

/** Keeps a port that the system chose, while the configuration of the address is unchanged. */
function keepingPorts(next: Config, { config, daemon }: Running): Config {
  const listen = keepingPort(next.server.listen, config.server.listen, daemon.address);
  const hooks = next.hooks.listen && keepingPort(next.hooks.listen, config.hooks.listen, daemon.hooks);
  const { listen: probesAt } = next.server.probes;
  const probes = probesAt && keepingPort(probesAt, config.server.probes.listen, daemon.probes);
  return {
    ...next,
    server: { ...next.server, listen, probes: { listen: probes } },
    hooks: { ...next.hooks, listen: hooks },
  };
}

function keepingPort(next: ListenAddress, before: ListenAddress | undefined, bound: string | undefined): ListenAddress {
  if (next.port !== 0 || before?.port !== 0 || before.host !== next.host || bound === undefined) return next;
  return { ...next, port: Number(new URL(bound).port) };
}
