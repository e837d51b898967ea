/** The daemon from its start to its stop. Reading `startApp` from top to bottom is reading the daemon. */
import type { Config } from '#config/config.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus } from '#foundation/events/events.ts';
import { openDoors, takeDoors } from './doors.ts';
import { createGeneration } from './generation.ts';
import { openListeners } from './listeners.ts';
import type { Daemon, DaemonOptions } from './options.ts';
import { Parts } from './parts.ts';
import { rehearse } from './reload.ts';
import { openStorage } from './storage.ts';

/**
 * Starts the daemon: on return its addresses answer and its collectors run.
 *
 * @throws {Error} when the store or an address cannot be had; whatever was started before is ended again
 */
export async function startApp(config: Config, options: DaemonOptions): Promise<Daemon> {
  const { clock, env, logger } = options;
  const startedAt = clock.now();
  await using parts = new Parts(options);
  const events = new EventBus();
  parts.use(logEvents(events, logger));
  const doors = openDoors(config, clock);
  const storage = openStorage(config, { clock, events }, parts);
  const deps = { config, options, events, storage, doors };
  const generation = parts.use(await createGeneration(deps));
  const listeners = await openListeners({ ...deps, generation, startedAt }, parts);
  generation.start();
  // First to end: nothing new begins, what runs may finish, and only then goes what it runs on.
  parts.defer(() => generation.stop());

  const owned = parts.move();
  const addresses = [listeners.address, listeners.hooks, listeners.probes];
  return {
    ...listeners,
    rehearse: (next) => rehearse(next, { config, env, store: storage.store, addresses }),
    noteReload: (by) => generation.noteReload(by),
    takeDoors: (next) => takeDoors(doors, next, events),
    tell: (event) => events.emit(event),
    handOver: () => generation.handOver(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
