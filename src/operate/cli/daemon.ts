/** What `run` and `demo` share: a daemon from its start to its clean end. */
import type { Config } from '#config/config.ts';
import type { HandedCounts } from '#observe/metrics/families.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import { createLogger, type Logger, type LogLevel } from '#foundation/platform/logger.ts';
import { systemRandom, type Random } from '#foundation/platform/random.ts';
import { textLog } from '#foundation/platform/text-log.ts';
import type { CliIo } from './command.ts';
import type { ReloadOutcome, ReloadState } from './reloader.ts';
import { packageVersion } from './version.ts';

/** The composition root as the commands see it. */
export type StartDaemon = (config: Config, options: DaemonOptions) => Promise<Daemon>;

type CurrentSpan = () => { readonly traceId: string; readonly spanId: string } | undefined;

export interface DaemonOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** To be told how to learn which span of the daemon's own is the present one: log lines name it. */
  readonly onSpans: (current: CurrentSpan) => void;
  /** Log lines written so far, by level. */
  readonly logLines: ReadonlyMap<string, number>;
  readonly version: string;
  /** Loading the configuration again; absent where it has no file. */
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
  readonly hooks?: string;
  /** The same of the probes' own listener, where there is one. */
  readonly probes?: string;
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
  /** To be called once it has ended. */
  handOver(): Handover;
}

/** What a daemon learns of the loading of its configuration. */
interface ReloadPort {
  state(): ReloadState;
  request(by: string): Promise<ReloadOutcome>;
}

/** What a daemon knows that is written nowhere, and that one after it must not forget. */
export interface Handover {
  readonly counts: HandedCounts;
  /** Pauses that could not be written down, by scope. */
  readonly pauses: ReadonlyMap<string, string>;
}

export interface DaemonRun extends Pick<DaemonOptions, 'settleMs' | 'pace'> {
  readonly config: Config;
  readonly level: LogLevel;
  /** Where log lines go; default standard error. */
  readonly logSink?: { write(text: string): unknown };
  /** Called once the daemon answers; what it returns is ended before the daemon is. */
  readonly onStarted?: (daemon: Daemon) => Disposable;
}

export interface Launched {
  readonly daemon: Daemon;
  readonly logger: Logger;
}

/** Runs until the signal, then ends the daemon in order. @returns the exit code */
export async function runUntilStopped(run: DaemonRun, io: CliIo, start: StartDaemon): Promise<number> {
  const { daemon, logger } = await launch(run, io, start, { logLines: new Map() });
  try {
    using _watching = run.onStarted?.(daemon);
    await aborted(io.signal);
    logger.info({ reason: (io.signal.reason as Error).message }, 'the daemon stops');
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
  logger.info('the daemon has stopped');
  return 0;
}

/** @param more what outlives a daemon: its log lines are counted on */
export async function launch(
  run: DaemonRun,
  io: CliIo,
  start: StartDaemon,
  more: { readonly logLines: Map<string, number> } & Pick<DaemonOptions, 'reload' | 'handed'>,
): Promise<Launched> {
  const { logLines } = more;
  let currentSpan: CurrentSpan = () => undefined;
  const logger = createLogger({
    level: run.level,
    destination: logDestination(run, io),
    onLine: (level) => logLines.set(level, (logLines.get(level) ?? 0) + 1),
    fields: () => {
      const span = currentSpan();
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
    },
  });
  const daemon = await start(run.config, {
    clock: io.clock,
    random: systemRandom,
    env: io.env,
    logger,
    onSpans: (current) => (currentSpan = current),
    version: packageVersion(),
    ...more,
    ...(run.settleMs !== undefined && { settleMs: run.settleMs }),
    ...(run.pace !== undefined && { pace: run.pace }),
  });
  logger.info(
    {
      url: daemon.address,
      ...(daemon.hooks !== undefined && { hooks: daemon.hooks }),
      ...(daemon.probes !== undefined && { probes: daemon.probes }),
      socket: daemon.socketPath,
      accounts: run.config.accounts.length,
    },
    'the daemon runs',
  );
  return { daemon, logger };
}

function logDestination(run: DaemonRun, io: CliIo): { write(line: string): void } {
  const sink = run.logSink ?? io.stderr;
  const format = run.config.log.format ?? (io.stderr.isTTY === true ? 'text' : 'json');
  if (format === 'json') return { write: (line) => void sink.write(line) };
  return textLog(sink, { color: io.stderr.isTTY === true && (io.env['NO_COLOR'] ?? '') === '' });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
