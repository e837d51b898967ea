/** Options of an embedded service. */
import type { Clock } from '#foundation/platform/clock.ts';
import { isLoopback } from '#foundation/platform/private-address.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import type { AccountSeed } from './state/account-book.ts';
import type { TimeMode } from './control/steerable-clock.ts';
import type { Switches } from './state/switches.ts';

/** Pages need no credentials, so other machines see them only if someone wants that. */
export function servesPages(host: string, wanted: boolean | undefined): boolean {
  return wanted ?? isLoopback(host);
}

export interface RunOptions {
  /** Real time. It is also the service's time unless `time` or `control` is given. */
  readonly clock: Clock;
  /**
   * Virtual time stops until `advance` moves it; all modes can be moved. `skip` is virtual time that moves to the next
   * timer when nothing is in progress. If absent, the service uses `clock`.
   */
  readonly time?: TimeMode | 'skip';
  /** Real milliseconds without a request or a delivery after which time skips. Default 20. */
  readonly quietMs?: number;
  /** First time in epoch milliseconds, if `time` is given; the clock's time when absent. */
  readonly startAt?: number;
  /** True enables the control API `/-/emulator/…` and records requests. For tests only: it needs no credentials. */
  readonly control?: boolean;
  /** True serves pages at `GET /`. They show all messages and publish without credentials. */
  readonly pages?: boolean;
  readonly random: Random;
  /** Port 0 selects a free port. */
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
  /**
   * Host names whose destinations are on a loopback port. Requests to them use plain HTTP, whatever the URL's scheme.
   */
  readonly hosts?: Readonly<Record<string, number>>;
  readonly switches?: Partial<Switches>;
  /**
   * Folder of the stored state. After a restart or a `kill -9` the state is restored, and messages in delivery are
   * delivered again. If absent, all state is in memory.
   */
  readonly dataFolder?: string | undefined;
  /** Enforces the plan's limits: requests beyond them are rejected or wait. Default true. */
  readonly enforceLimits?: boolean;
  /** Default: the plan's. */
  readonly logRetentionMs?: number;
  /** Maximum entries of an account's log; the oldest are removed first. Default 1,000,000. */
  readonly logMaxEntries?: number;
  /** Retention of both DLQs. Default: the plan's. */
  readonly dlqRetentionMs?: number;
  /** Maximum concurrent deliveries. Default 128. */
  readonly maxDeliveries?: number;
  /** Maximum request body in bytes, if below the plan's maximum. Default: the plan's. */
  readonly maxBodyBytes?: number;
  /** Called with failures of the emulator itself. Clients receive them as 500. */
  readonly onError?: (error: unknown) => void;
}
