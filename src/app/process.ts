import type { EventBus } from '#foundation/events/events.ts';
import type { CommandGate } from './commands.ts';
import type { Generation } from './generation.ts';
import type { ListenerSecurities } from './listener-security.ts';
import type { DaemonOptions } from './options.ts';
import type { Storage } from './storage.ts';

/** Parts of the process that outlive the generations of its configuration. */
export interface DaemonProcess {
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly storage: Storage;
  readonly security: ListenerSecurities;
  readonly gate: CommandGate;
  /** Present generation, which may be another one later. */
  readonly generation: () => Generation;
}
