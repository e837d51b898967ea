/** Interface between the process and the daemon. */
import type { Config } from '#config/config.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { AuditCounts } from '#automate/ledger/counted-audit.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { HandedCounts } from '#observe/metrics/family-tables.ts';
import type { ReloadOutcome } from '#operate/api/api-deps.ts';
import type { ServerDeps } from '#operate/server.ts';
import type { ReloadState } from './reloader.ts';

export type StartDaemon = (config: Config, options: DaemonOptions) => Promise<Daemon>;

export type CurrentSpan = () => { readonly traceId: string; readonly spanId: string } | undefined;

export interface DaemonOptions extends Pick<ServerDeps, 'tour' | 'entry'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** Called with a function that returns the daemon's current span, for log lines. */
  readonly onSpans: (current: CurrentSpan) => void;
  /** Number of log lines so far, by level. */
  readonly logLines: ReadonlyMap<string, number>;
  readonly version: string;
  /** Reloads the configuration; absent if it has no file. */
  readonly reload?: ReloadPort;
  /** State of an earlier daemon of this process. */
  readonly handed?: Handover;
  /** Serves one command instead of running until a signal. */
  readonly direct?: DirectOptions;
  /** Milliseconds before a resumed run is judged; default 5 min. */
  readonly settleMs?: number;
  /** Milliseconds that breakers stay open after each consecutive halt, and between listings that judge actions. */
  readonly pace?: { readonly breakerMs: readonly number[]; readonly listEveryMs: number };
}

/**
 * Daemon of one command, in the process of the command. It serves only this socket. No policy starts by itself, and
 * nothing is reported to other systems.
 */
export interface DirectOptions {
  readonly socketPath: string;
  /**
   * `memory`: nothing is stored, and nothing can be acted on. `configured`: acts and their audit log are in the
   * configured store. Readings are in memory in both cases.
   */
  readonly store: 'memory' | 'configured';
  /** Collectors that run; the others are off. */
  readonly collectors: readonly CollectorName[];
}

export interface Daemon extends AsyncDisposable {
  /** `http://HOST:PORT` */
  readonly address: string;
  /** Address of the hooks, if they listen. */
  readonly hooks: string | undefined;
  /** Address of the separate probe listener, if there is one. */
  readonly probes: string | undefined;
  /** Unix socket for commands. */
  readonly socketPath: string;
  /** Returns true after the first run of each collector, and at the latest after 30 seconds. */
  isReady(): boolean;
  /** Checks that a daemon with this configuration can run on the machine. Rejects with a message for the operator. */
  rehearse(config: Config): Promise<void>;
  /** Reports that the last reload had another result than the previous one. @param by requester of a failed reload */
  noteReload(by?: string): void;
  /**
   * Applies the current web configuration files without closing a connection. Nothing else of the configuration may
   * differ. @returns true if anything has changed. Throws with a message for the operator.
   */
  replaceSecurity(next: Config): boolean;
  tell(event: OpsEvent): void;
  /** Returns true if the next configuration needs a store or a listener that this daemon cannot open while it runs. */
  startsAnew(next: Config): boolean;
  /**
   * Replaces everything that depends on the configuration. Unchanged addresses stay open.
   *
   * @returns true if the daemon runs with the next configuration, false if it runs with the previous one
   * @throws {Error} if the previous configuration does not start again either
   */
  exchange(next: Config, options: ExchangeOptions): Promise<boolean>;
  /** Returns the state for the next daemon. Call it after the end. */
  handOver(): Handover;
}

export interface ExchangeOptions {
  /** After an abort, nothing is started any more. */
  readonly signal: AbortSignal;
  /** Called with the reason before the daemon continues with the previous configuration. */
  readonly onFailed: (why: string) => void;
}

/** Access to reloads for a daemon. */
interface ReloadPort {
  state(): ReloadState;
  request(by: string): Promise<ReloadOutcome>;
}

export interface LateRun {
  readonly policy: string;
  readonly trigger: Trigger;
}

/** State that is stored nowhere, and that the next daemon needs. */
export interface Handover {
  readonly counts: HandedCounts;
  /** Pauses that could not be stored yet, by scope. */
  readonly pauses: Map<string, Pause>;
  /** Runs that were requested after the policies had ended. */
  readonly late: readonly LateRun[];
  /** Counts of audit records, as in `counts`; absent if the log is opened again. */
  readonly audited?: AuditCounts;
}
