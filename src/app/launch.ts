/** Common part of `run` and `demo`: a daemon from its start to its clean stop. */
import type { Config } from '#config/config.ts';
import type { CliIo } from '#cli/command.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { createLogger, type Logger, type LogLevel } from '#foundation/platform/logger.ts';
import { packageVersion } from '#foundation/platform/package-version.ts';
import { systemRandom } from '#foundation/platform/random.ts';
import { aborted } from '#foundation/platform/sleep.ts';
import { textLog, type TextSink } from '#foundation/platform/text-log.ts';
import type { CodeEntry } from '#operate/http/access.ts';
import { SignInCode } from '#operate/http/sign-in-code.ts';
import type { CurrentSpan, Daemon, DaemonOptions, StartDaemon } from './options.ts';

/** Process environment of the daemon. */
export interface ProcessIo extends Pick<CliIo, 'env' | 'signal' | 'clock'> {
  readonly stderr: TextSink & { readonly isTTY?: boolean };
}

export interface DaemonRun extends Pick<DaemonOptions, 'settleMs' | 'pace' | 'tour'> {
  /** Code that signs in over TCP once, as this person. */
  readonly signIn?: Omit<CodeEntry, 'code'> & { readonly code: string };
  readonly config: Config;
  readonly level: LogLevel;
  /** Destination of log lines; default: standard error. */
  readonly logSink?: { write(text: string): unknown };
  /** Called when the daemon answers; the returned part ends before the daemon does. */
  readonly onStarted?: (daemon: Daemon) => Disposable;
}

export interface Launched {
  readonly daemon: Daemon;
  readonly logger: Logger;
  /** Logs the daemon's addresses, and applies the log settings of the configuration. */
  announce(config: Config): void;
}

/** Runs until the signal, then stops the daemon in order. @returns the exit code */
export async function runUntilStopped(run: DaemonRun, io: ProcessIo, start: StartDaemon): Promise<number> {
  const { daemon, logger } = await launch(run, io, start, { logLines: new Map() });
  try {
    using _watching = run.onStarted?.(daemon);
    await aborted(io.signal);
    logger.info({ reason: errorMessage(io.signal.reason) }, 'daemon stopping');
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
  logger.info('daemon stopped');
  return 0;
}

/** @param more state that outlives a daemon: its log lines are counted on */
export async function launch(
  run: DaemonRun,
  io: ProcessIo,
  start: StartDaemon,
  more: { readonly logLines: Map<string, number> } & Pick<DaemonOptions, 'reload' | 'handed'>,
): Promise<Launched> {
  const { logLines } = more;
  let currentSpan: CurrentSpan = () => undefined;
  let destination = logDestination(run.config, run, io);
  const logger = createLogger({
    level: run.level,
    destination: { write: (line) => destination.write(line) },
    onLine: (level) => logLines.set(level, (logLines.get(level) ?? 0) + 1),
    fields: (): Readonly<Record<string, string>> => {
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
    settleMs: run.settleMs,
    pace: run.pace,
    tour: run.tour,
    entry: run.signIn && { ...run.signIn, code: new SignInCode(run.signIn.code) },
  });
  function announce(config: Config): void {
    const { address: url, hooks, probes, socketPath: socket } = daemon;
    logger.info({ url, hooks, probes, socket, accounts: config.accounts.length }, 'daemon running');
  }
  announce(run.config);
  return {
    daemon,
    logger,
    announce(config) {
      logger.level = config.log.level;
      destination = logDestination(config, run, io);
      announce(config);
    },
  };
}

function logDestination({ log }: Config, run: DaemonRun, io: ProcessIo): { write(line: string): void } {
  const sink = run.logSink ?? io.stderr;
  const format = log.format ?? (io.stderr.isTTY === true ? 'text' : 'json');
  if (format === 'json') return { write: (line) => void sink.write(line) };
  return textLog(sink, { color: io.stderr.isTTY === true && (io.env['NO_COLOR'] ?? '') === '' });
}
