/** What an embedded service is started with. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';
import type { AccountSeed } from './state/account-book.ts';
import type { TimeMode } from './control/steerable-clock.ts';
import type { Switches } from './state/switches.ts';

export interface EmulatorOptions {
  /** Real time. It is the service's own time unless `time` or `control` is given. */
  readonly clock: Clock;
  /** Virtual time stands still until `advance` moves it. Both can be moved; absent, the service's time is the clock's. */
  readonly time?: TimeMode;
  /** Epoch milliseconds of the first moment when `time` is given; the clock's when absent. */
  readonly startAt?: number;
  /** True: the control path `/-/emulator/…` is there and requests are recorded. For tests: it needs no credentials. */
  readonly control?: boolean;
  readonly random: Random;
  /** Port 0 lets the system choose. */
  readonly listen: ListenAddress;
  readonly accounts: readonly AccountSeed[];
  /** Basic authentication of the management API. */
  readonly management: { readonly username: string; readonly password: string };
  /** Default `Svc`. */
  readonly headerPrefix?: string;
  /** Default `msgsvc`. */
  readonly product?: string;
  /** Issuer in the signatures of deliveries. Default: the product. */
  readonly issuer?: string;
  /** Host names whose destinations live on a loopback port, in plain HTTP whatever the scheme of the URL. */
  readonly hosts?: Readonly<Record<string, number>>;
  readonly switches?: Partial<Switches>;
  /**
   * Folder in which everything is kept: after a restart, or a `kill -9`, it is there again, and messages that were under
   * way are delivered. Absent, all is in memory.
   */
  readonly dataFolder?: string | undefined;
  /** Default true: what an account's plan does not allow is refused or waits. */
  readonly enforceLimits?: boolean;
  /** Default: the plan's. */
  readonly logRetentionMs?: number;
  /** Entries of an account's log, at most; the oldest go first. Default 1,000,000. */
  readonly logMaxEntries?: number;
  /** Of both DLQs. Default: the plan's. */
  readonly dlqRetentionMs?: number;
  /** Deliveries in progress at one moment, at most. Default 128. */
  readonly maxDeliveries?: number;
  /** Largest body of a request, below what the plan allows. Default: no less than that. */
  readonly maxBodyBytes?: number;
  /** Told of failures of the emulator itself, which callers see as 500. */
  readonly onError?: (error: unknown) => void;
}
