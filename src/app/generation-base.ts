/** Parts of a generation that the other ones are made from. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { VerifiedClock } from '#foundation/events/verified-clock.ts';
import type { KeptBodies } from '#automate/ledger/kept-bodies.ts';
import type { Scheduler } from '#foundation/scheduler/scheduler.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ResumeEnds } from '#observe/observations/resume-ends.ts';
import type { Accounts } from './accounts.ts';
import type { ListenerSecurities } from './listener-security.ts';
import type { DaemonOptions, Handover } from './options.ts';
import type { Tracing } from './outgoing.ts';
import type { Storage } from './storage.ts';
import type { Stores } from './stores.ts';

export interface GenerationBase extends Tracing {
  /** Part of the configuration that this process works on. */
  readonly config: Config;
  /** Configuration of all replicas. */
  readonly whole: Config;
  readonly options: DaemonOptions;
  readonly events: EventBus;
  /** The ledger lists only what belongs to the accounts of this generation. */
  readonly storage: Storage & Stores;
  readonly security: ListenerSecurities;
  /** State of the generation before; undefined if this is the first one. */
  readonly handed: Handover | undefined;
  readonly accounts: Accounts;
  readonly bodies: KeptBodies;
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly resumeEnds: ResumeEnds;
  readonly scheduler: Scheduler;
  /** Clock that responses of the service confirm. */
  readonly clock: VerifiedClock;
}
