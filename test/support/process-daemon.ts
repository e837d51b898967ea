/** A daemon in the process of the test. */
import { startApp } from '#app/daemon.ts';
import type { Daemon, DaemonOptions } from '#app/options.ts';
import type { Config } from '#config/config.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { seededRandom } from '#foundation/platform/random.ts';

interface Given extends Partial<DaemonOptions> {
  readonly settings?: Partial<Config>;
  /** Takes the lines of its log. */
  readonly write?: (line: string) => void;
}

/** Starts the daemon of a configuration file. The caller ends it. */
export function daemonOf(path: string, { settings, write = () => undefined, ...options }: Given = {}): Promise<Daemon> {
  const loaded = loadConfig(path, { env: {} });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return startApp(
    { ...loaded.config, ...settings },
    {
      clock: systemClock,
      random: seededRandom(3),
      env: {},
      logger: createLogger({ level: 'debug', destination: { write } }),
      onSpans: () => undefined,
      logLines: new Map(),
      version: '0',
      ...options,
    },
  );
}
