/** Daemon of one command: it answers the command's requests if no other daemon runs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '#config/config.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { packageVersion } from '#foundation/platform/package-version.ts';
import { systemRandom } from '#foundation/platform/random.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { textLog } from '#foundation/platform/text-log.ts';
import type { DirectDaemon, DirectNeeds } from '#cli/command.ts';
import type { ProcessIo } from './launch.ts';
import type { StartDaemon } from './options.ts';

const LOOK_EVERY_MS = 20;

/**
 * Starts the daemon, and waits for the first run of its collectors.
 *
 * @throws {Error} if the command writes and another daemon has the store
 */
export async function startDirect(
  { config, writes, collectors }: DirectNeeds & { readonly config: Config },
  io: ProcessIo,
  start: StartDaemon,
): Promise<DirectDaemon> {
  await using parts = new AsyncDisposableStack();
  const folder = parts.adopt(mkdtempSync(join(tmpdir(), 'opsd-')), (path) => rmSync(path, { recursive: true }));
  const daemon = parts.use(
    await start(quiet(config), {
      clock: io.clock,
      random: systemRandom,
      env: withoutTelemetry(io.env),
      logger: createLogger({ level: 'error', destination: textLog(io.stderr, { color: false }) }),
      onSpans: () => undefined,
      logLines: new Map(),
      version: packageVersion(),
      direct: { socketPath: join(folder, 'opsd.sock'), store: writes ? 'configured' : 'memory', collectors },
    }),
  );
  while (!daemon.isReady()) await sleep(io.clock, LOOK_EVERY_MS, io.signal);
  const owned = parts.move();
  return { socketPath: daemon.socketPath, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Returns the configuration without other systems: no receiver of notifications or spans, no listeners' files. */
function quiet({ server, hooks, telemetry, notifications, ...config }: Config): Config {
  const { webConfigFile: _server, ...addresses } = server;
  const { webConfigFile: _hooks, ...webhooks } = hooks;
  const { deliveryEvents: _lines, ...others } = telemetry;
  const { otlp: _otlp, ...traces } = telemetry.traces;
  return {
    ...config,
    security: {},
    server: addresses,
    hooks: webhooks,
    telemetry: { ...others, traces },
    notifications: { infoAfter: notifications.infoAfter, owners: {} },
  };
}

function withoutTelemetry(env: ProcessIo['env']): ProcessIo['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
}
