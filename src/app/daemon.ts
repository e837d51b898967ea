/**
 * Daemon from start to stop, across changes of its configuration. The store, the listeners and the event bus belong to
 * the process; everything else belongs to a generation, which a changed configuration replaces.
 */
import type { Config } from '#config/config.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus } from '#foundation/events/events.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { CanaryPost } from './canaries.ts';
import { CommandGate } from './commands.ts';
import { needsOtherListeners, createSecurity, replaceSecurity } from './listener-security.ts';
import { endGeneration } from './exchange.ts';
import { createGeneration, type Generation } from './generation.ts';
import { openListeners, type AddressChange } from './listeners.ts';
import { readiness } from './observation.ts';
import { endInterruptedOperations } from './operations.ts';
import type { Daemon, DaemonOptions, ExchangeOptions, Handover } from './options.ts';
import { Parts } from './parts.ts';
import { rehearse } from './reload.ts';
import { servedBy } from './served.ts';
import { openStorage } from './storage.ts';

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
  await endInterruptedOperations(storage, options);
  const own = { options, events, storage, security };
  const gate = new CommandGate();
  const flowControlHistory = new FlowControlHistory();
  let post: Promise<CanaryPost> | undefined;
  // Loaded on demand: a daemon without canaries has none of it.
  const canaryPost = () => (post ??= import('./canaries.ts').then((found) => found.openCanaries({ ...own, clock })));
  const create = (config: Config, handed: () => Handover | undefined): Promise<Generation> =>
    createGeneration({ config, ...own, flowControlHistory, canaryPost, handed, address: () => address });
  const serve = (next: Generation) => servedBy(next, { ...own, gate, generation, startedAt });

  let address: string | undefined;
  let present = await create(first, () => options.handed);
  parts.defer(() => present.close());
  parts.defer(() => present.release());
  parts.ending('commands in progress', 15_000, () => gate.idle());
  let served = serve(present);
  const listeners = await openListeners({ config: first, ...own, generation, served: () => served }, parts);
  address = listeners.address;
  present.start();
  // Ends first: no new run starts, and running ones may finish before their dependencies end.
  parts.defer(() => present.stop());

  function generation(): Generation {
    return present;
  }

  function begin(next: Generation): void {
    present = next;
    served = serve(next);
    next.start();
  }

  async function exchange(next: Config, { signal, onFailed }: ExchangeOptions): Promise<boolean> {
    let change: AddressChange;
    try {
      change = await listeners.change(next);
    } catch (error) {
      onFailed(errorMessage(error));
      return false;
    }
    const old = present;
    using commands = gate.hold();
    await endGeneration(old, commands, signal);
    if (signal.aborted) {
      await change.cancel();
      return false;
    }
    let handed: Handover | undefined;
    const takeOver = (): Handover => (handed ??= { ...old.handOver(), audited: storage.auditCounts() });
    try {
      begin(await create(next, takeOver));
    } catch (error) {
      await change.cancel();
      onFailed(errorMessage(error));
      begin(await create(old.config, takeOver));
      return false;
    }
    replaceSecurity(security, next, events);
    const closed = change.commit();
    commands[Symbol.dispose]();
    await closed;
    return true;
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
    isReady: () => readiness(present.board, clock.now() - startedAt).ready,
    rehearse: (next) => rehearse(next, { config: present.config, env, store: storage.store, addresses: addresses() }),
    startsAnew: (next) =>
      JSON.stringify(next.storage) !== JSON.stringify(first.storage) ||
      needsOtherListeners(security, next) ||
      listeners.mustClose(next),
    exchange,
    noteReload: (by) => present.noteReload(by),
    replaceSecurity: (next) => replaceSecurity(security, next, events),
    tell: (event) => events.emit(event),
    handOver: () => present.handOver(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
