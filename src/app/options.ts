/** What the process gives to the daemon, and what it gets from it. */
import type { Config } from '#config/config.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { AuditCounts } from '#automate/ledger/counted-audit.ts';
import type { HandedCounts } from '#observe/metrics/family-tables.ts';
import type { ReloadOutcome, ReloadState } from './reloader.ts';

export type StartDaemon = (config: Config, options: DaemonOptions) => Promise<Daemon>;

export type CurrentSpan = () => { readonly traceId: string; readonly spanId: string } | undefined;

export interface DaemonOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** Called with the function that returns the daemon's current span, which log lines name. */
  readonly onSpans: (current: CurrentSpan) => void;
  /** Log lines written so far, by level. */
  readonly logLines: ReadonlyMap<string, number>;
  readonly version: string;
  /** Reloads the configuration; absent where it has no file. */
  readonly reload?: ReloadPort;
  /** What an earlier daemon of this process knew. */
  readonly handed?: Handover;
  /** How long a resumed run is given before it is judged, in milliseconds; default 5 min. */
  readonly settleMs?: number;
  /** Milliseconds: how long breakers stay open after each halt in a row, and between listings that judge acts. */
  readonly pace?: { readonly breakerMs: readonly number[]; readonly listEveryMs: number };
}

export interface Daemon extends AsyncDisposable {
  /** `http://HOST:PORT` */
  readonly address: string;
  /** The same of the hooks, where they listen. */
  readonly hooks: string | undefined;
  /** The same of the probes' own listener, where there is one. */
  readonly probes: string | undefined;
  /** The unix socket that the commands talk to. */
  readonly socketPath: string;
  /** Tries what a daemon with this configuration will need of the machine. Rejects with words for the operator. */
  rehearse(config: Config): Promise<void>;
  /** The last loading of the configuration went otherwise than the one before. @param by who asked for a bad one */
  noteReload(by?: string): void;
  /**
   * Takes up what the web configuration files say now, without dropping a connection; nothing else of the configuration
   * may differ. @returns whether anything has changed. Throws with words for the operator.
   */
  takeDoors(next: Config): boolean;
  tell(event: OpsEvent): void;
  /** Returns whether the next configuration needs a store or a listener that this daemon cannot have while it runs. */
  startsAnew(next: Config): boolean;
  /**
   * Exchanges everything that depends on the configuration; addresses that stay are not closed.
   *
   * @returns whether the daemon runs with it; if not, it runs with the configuration of before
   * @throws {Error} when the configuration of before does not start again either
   */
  exchange(next: Config, options: ExchangeOptions): Promise<boolean>;
  /** To be called once it has ended. */
  handOver(): Handover;
}

export interface ExchangeOptions {
  /** Once it is aborted nothing is started any more. */
  readonly signal: AbortSignal;
  /** Called with the reason before the daemon continues with the configuration of before. */
  readonly onFailed: (why: string) => void;
}

/** What a daemon learns of the loading of its configuration. */
interface ReloadPort {
  state(): ReloadState;
  request(by: string): Promise<ReloadOutcome>;
}

export interface LateRun {
  readonly policy: string;
  readonly trigger: Trigger;
}

/** What a daemon knows that is written nowhere, and that one after it must not forget. */
export interface Handover {
  readonly counts: HandedCounts;
  /** Pauses that could not be written down, by scope. */
  readonly pauses: ReadonlyMap<string, string>;
  /** Runs that were asked for while the policies had ended. */
  readonly late: readonly LateRun[];
  /** What was written to the audit log, as `counts` has it; absent if the log is opened again. */
  readonly audited?: AuditCounts;
}
