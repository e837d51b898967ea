/**
 * Daemon from start to stop, across changes of its configuration. The store, the listeners and the event bus belong to
 * the process; everything else belongs to a generation, which a changed configuration replaces.
 */
import type { Config } from '#config/config.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus } from '#foundation/events/events.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import { Holds } from '#service/holds.ts';
import { UnsavedNotifications } from '#operate/notifications/unsaved-notifications.ts';
import type { ServerDeps } from '#operate/server.ts';
import type { CanaryPost } from './canaries.ts';
import { CommandGate } from './commands.ts';
import { needsOtherListeners, createSecurity, replaceSecurity } from './listener-security.ts';
import { createGeneration, type Generation } from './generation.ts';
import { Generations } from './generations.ts';
import { createMarks } from './incidents.ts';
import { openListeners } from './listeners.ts';
import { readiness } from './observation.ts';
import { endInterruptedOperations } from './maintenance.ts';
import { operationsOf } from './operations.ts';
import type { Daemon, DaemonOptions, Handover } from './options.ts';
import { Parts } from '#foundation/platform/parts.ts';
import type { DaemonProcess } from './process.ts';
import { rehearse } from './reload.ts';
import { liveReadsOf, ownIncidents } from './reading.ts';
import { servedBy } from './served.ts';
import { tryAddresses } from './addresses.ts';
import { openLocal } from './local-storage.ts';
import type { Storage, StorageDeps } from './storage.ts';

/**
 * Starts the daemon: on return it answers at its addresses and its collectors run.
 *
 * @throws {Error} if the store or an address is unavailable; the parts started before are ended again
 */
export async function startApp(first: Config, options: DaemonOptions): Promise<Daemon> {
  const { clock, env, logger } = options;
  const startedAt = clock.now();
  await using parts = new Parts(options);
  const events = new EventBus();
  parts.use(logEvents(events, logger));
  const security = createSecurity(first, clock);
  const storage = await openStorage(first, { clock, events, direct: options.direct }, parts);
  if (storage.replica === undefined) await endInterruptedOperations(storage.ledger, options);
  const gate = new CommandGate();
  const generation = (): Generation => generations.present;
  const own: DaemonProcess = { options, events, storage, security, gate, generation };
  const flowControlHistory = new FlowControlHistory();
  const holds = new Holds(clock);
  const unsaved = new UnsavedNotifications();
  const markStart = createMarks(options);
  const { replica } = storage;
  let post: Promise<CanaryPost> | undefined;
  // Loaded on demand: a daemon without canaries has none of it.
  const openPost = async (accounts: readonly string[]) =>
    (await import('./canaries.ts')).openCanaries({ ...own, clock, accounts });
  const canaryPost = (accounts: readonly string[]) =>
    replica === undefined ? (post ??= openPost(accounts)) : openPost(accounts);
  const routed = await routedOf(own);
  const views =
    routed && (await import('./views.ts')).openViews({ ...own, replica: replica!, routed, flowControlHistory }, parts);
  const create = (whole: Config, handed: () => Handover | undefined): Promise<Generation> => {
    const config = replica?.partOf(whole) ?? whole;
    const shared = { flowControlHistory, holds, unsaved, markStart, canaryPost, views };
    return createGeneration({ config, whole, ...own, ...shared, handed, address: () => address });
  };
  const serve = (next: Generation) => servedBy(next, { ...own, views, routed, startedAt, address: () => address });

  let address: string | undefined;
  let served: ServerDeps;
  const generations = await Generations.create(first, options.handed, {
    gate,
    clock,
    logger,
    replica,
    create,
    onBegin: (next) => void (served = serve(next)),
    auditCounts: storage.auditCounts,
  });
  parts.defer(() => generation().close());
  parts.defer(() => generation().release());
  parts.ending('commands in progress', 15_000, () => gate.idle());
  const listeners = await openListeners({ config: first, ...own, routed, served: () => served }, parts);
  address = listeners.address;
  generations.start();
  // Ends first: no new run starts, and running ones may finish before their dependencies end.
  parts.defer(() => generations.stop());
  const peers = routed?.serve();
  if (peers !== undefined) {
    parts.ending('commands of other replicas', 15_000, async () => peers[Symbol.asyncDispose]());
  }

  const owned = parts.move();
  const addresses = () => [listeners.address, listeners.hooks, listeners.probes];
  return {
    get address() {
      return listeners.address;
    },
    get hooks() {
      return listeners.hooks;
    },
    get probes() {
      return listeners.probes;
    },
    socketPath: listeners.socketPath,
    isReady: () => readiness(generation().board, clock.now() - startedAt).ready,
    rehearse: (next) => rehearse(next, { env, storage, security, clock, addresses: addresses() }),
    startsAnew: (next) =>
      JSON.stringify(next.storage) !== JSON.stringify(first.storage) ||
      needsOtherListeners(security, next) ||
      listeners.mustClose(next),
    exchange: (next, exchanged) =>
      generations.exchange(next, exchanged, {
        change: (changed) => listeners.change(changed),
        taken: (taken) => replaceSecurity(security, taken, events),
      }),
    noteReload: (by) => generation().noteReload(by),
    replaceSecurity: (next) => replaceSecurity(security, next, events),
    tell: (event) => events.emit(event),
    handOver: () => generation().handOver(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the commands to all replicas; undefined if the store is not shared. */
async function routedOf(own: DaemonProcess) {
  const { options, gate, generation } = own;
  const { peers, replica, ledger } = own.storage;
  if (peers === undefined || replica === undefined) return undefined;
  const { routeCommands } = await import('./routed.ts');
  const operations = (requireHere: (account: string) => void) => operationsOf({ ...own, requireHere });
  const reads = {
    liveReads: liveReadsOf(options.clock, () => generation().accounts),
    incidents: () => ownIncidents(generation(), own.storage),
  };
  return routeCommands({ ...options, peers, replica, gate, generation, ledger, operations, reads });
}

/** @throws {Error} if the store is unavailable, or if a replica cannot listen at its addresses */
async function openStorage(config: Config, deps: StorageDeps, parts: Parts): Promise<Storage> {
  const { postgres } = config.storage;
  const { direct } = deps;
  if (postgres === undefined || direct?.store === 'memory') {
    return openLocal(config, deps, parts);
  }
  if (direct !== undefined) {
    throw new Error('this command changes the store, which replicas share: run it at a running daemon');
  }
  // A replica that cannot listen must not take accounts from the others first.
  await tryAddresses(config);
  return (await import('./shared-storage.ts')).openShared(config, postgres, deps, parts);
}
