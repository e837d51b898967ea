/** Listeners of the daemon: the command socket, HTTP, the probes and the hooks. */
import type { Config } from '#config/config.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import type { RunningHooks } from '#operate/hooks/hooks.ts';
import type { RunningServer } from '#operate/http/http-listener.ts';
import { startProbes } from '#operate/http/probes.ts';
import { startServer, type ServerDeps } from '#operate/server.ts';
import type { Generation } from './generation.ts';
import type { DaemonProcess } from './process.ts';
import { hooksOf } from './hooks.ts';
import { portOf } from './addresses.ts';
import type { Parts } from '#foundation/platform/parts.ts';
import type { RoutedCommands } from './routed.ts';

interface ListenerDeps extends DaemonProcess {
  readonly config: Config;
  /** Commands to all replicas; undefined if the store is not shared. */
  readonly routed: Pick<RoutedCommands, 'runSoon'> | undefined;
  /** Content of the current generation. */
  readonly served: () => ServerDeps;
}

/** Change of the addresses: the new ones are open, the old ones not yet closed. */
export interface AddressChange {
  /** Closes the addresses that the new configuration does not have. */
  commit(): Promise<unknown>;
  /** Closes the new addresses. */
  cancel(): Promise<unknown>;
}

/** Bound addresses; absent if not configured. */
export interface Listeners {
  readonly address: string;
  readonly hooks: string | undefined;
  readonly probes: string | undefined;
  readonly socketPath: string;
  /** Returns true if the next configuration has an address that cannot be opened before another one is closed. */
  mustClose(next: Config): boolean;
  /** Opens the addresses that only the next configuration has. @throws {ListenError} nothing has changed then */
  change(next: Config): Promise<AddressChange>;
}

/** @throws {ListenError} with the address, the reason, and the fix */
export async function openListeners(deps: ListenerDeps, parts: Parts): Promise<Listeners> {
  const { config } = deps;
  const { direct } = deps.options;
  const served = live(deps.served);
  const server = new Slot((listen) => startServer(served, listen));
  const probes = new Slot((listen) => startProbes(served, listen));
  const hooks = new Slot<RunningHooks>((listen) => openHooks(deps, listen));
  const socketPath = direct?.socketPath ?? socketPathOf(config.localPath);
  const socket = await startServer(served, { socketPath });
  parts.ending('command socket', 3_000, () => socket.close());
  parts.ending('HTTP server', 3_000, () => server.close());
  await (await server.change(direct ? undefined : config.server.listen)).commit();
  parts.ending('probes', 3_000, () => probes.close());
  await (await probes.change(direct ? undefined : config.server.probes.listen)).commit();
  parts.ending('hooks', 3_000, () => hooks.close());
  await (await hooks.change(direct ? undefined : config.hooks.listen)).commit();
  return {
    get address() {
      // A daemon of one command has only its socket.
      return server.running?.address ?? socketPath;
    },
    get probes() {
      return probes.running?.address;
    },
    get hooks() {
      return hooks.running?.address;
    },
    socketPath,
    mustClose(next) {
      const own = [server, probes, hooks].map((slot) => slot.listen?.port);
      const wanted = [
        [server, next.server.listen],
        [probes, next.server.probes.listen],
        [hooks, next.hooks.listen],
      ] as const;
      return wanted.some(([slot, listen]) => listen !== undefined && own.includes(listen.port) && !slot.has(listen));
    },
    async change(next) {
      const changes: AddressChange[] = [];
      const cancel = () => Promise.all(changes.map((change) => change.cancel()));
      try {
        changes.push(await server.change(next.server.listen));
        changes.push(await probes.change(next.server.probes.listen));
        changes.push(await hooks.change(next.hooks.listen));
      } catch (error) {
        await cancel();
        throw error;
      }
      return {
        cancel,
        commit() {
          const closed = Promise.all(changes.map((change) => change.commit()));
          hooks.running?.take(hooksOf(next, deps.events));
          return closed;
        },
      };
    },
  };
}

async function openHooks(deps: ListenerDeps, listen: ListenAddress): Promise<RunningHooks> {
  const { startHooks } = await import('#operate/hooks/hooks.ts');
  const { options, events, storage, security, generation, routed } = deps;
  const clock: Clock = {
    now: () => generation().clock.now(),
    monotonic: () => options.clock.monotonic(),
    after: (ms, run) => options.clock.after(ms, run),
  };
  const given = {
    clock,
    logger: options.logger,
    events,
    ledger: storage.ledger,
    bodies: () => generation().bodies,
    security: security.hooks,
    canaries: () => generation().canaries?.inbox,
    accounts: () => generation().whole.accounts.map(({ name }) => name),
    // A hook arrives at any replica.
    policies: () => generation().allPolicies.filter(({ mode }) => mode !== 'off'),
    run: (...asked: Parameters<Generation['policies']['runSoon']>) =>
      (routed ?? generation().policies).runSoon(...asked),
  };
  return startHooks(given, hooksOf(generation().whole, events), listen);
}

/** Listener whose address can change. */
class Slot<S extends RunningServer> {
  readonly #open: (listen: ListenAddress) => Promise<S>;
  /** Address, with the port that the system chose, if it did. */
  listen: ListenAddress | undefined;
  running: S | undefined;

  constructor(open: (listen: ListenAddress) => Promise<S>) {
    this.#open = open;
  }

  async change(listen: ListenAddress | undefined): Promise<AddressChange> {
    const old = this.running;
    if (this.has(listen)) {
      return { commit: () => Promise.resolve(), cancel: () => Promise.resolve() };
    }
    const opened = listen && (await this.#open(listen));
    return {
      commit: async () => {
        this.listen = opened && { ...listen, port: portOf(opened.address) };
        this.running = opened;
        await old?.close();
      },
      cancel: async () => opened?.close(),
    };
  }

  has(listen: ListenAddress | undefined): boolean {
    return listen?.host === this.listen?.host && listen?.port === this.listen?.port;
  }

  async close(): Promise<void> {
    await this.running?.close();
  }
}

/** Proxy of the current object. */
function live<T extends object>(present: () => T): T {
  return new Proxy({} as T, { get: (_none, key) => Reflect.get(present(), key) as unknown });
}
