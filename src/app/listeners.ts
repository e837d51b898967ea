/** The addresses at which the daemon answers: the command socket, HTTP, the probes and the hooks. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { ownCommand } from '#foundation/domain/own-command.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import type { MetricsFormat } from '#operate/http/metrics-format.ts';
import { startProbes } from '#operate/http/probes.ts';
import { startServer, type ServerDeps } from '#operate/server.ts';
import type { Doors } from './doors.ts';
import type { Generation } from './generation.ts';
import { apiTokens, startHookListener } from './hooks.ts';
import { readiness } from './observation.ts';
import type { DaemonOptions } from './options.ts';
import type { Parts } from './parts.ts';
import type { Storage } from './storage.ts';

interface ListenerDeps {
  readonly config: Config;
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly storage: Storage;
  readonly doors: Doors;
  readonly generation: Generation;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** Addresses as they were bound; absent where the configuration names none. */
export interface Listeners {
  readonly address: string;
  readonly hooks?: string;
  readonly probes?: string;
  readonly socketPath: string;
}

/** @throws {ListenError} saying which address, why, and what to do */
export async function openListeners(deps: ListenerDeps, parts: Parts): Promise<Listeners> {
  const { config, options, events, storage, doors, generation } = deps;
  const served = serverDeps(deps);
  const socketPath = socketPathOf(config.storage.sqlite.path);
  const socket = await startServer(served, { socketPath });
  parts.ending('command socket', 3_000, () => socket.close());
  const server = await startServer(served, config.server.listen);
  parts.ending('HTTP server', 3_000, () => server.close());
  const { listen: probesAt } = config.server.probes;
  const probes = probesAt && (await startProbes(served, probesAt));
  if (probes !== undefined) parts.ending('probes', 3_000, () => probes.close());
  const { policies, clock } = generation;
  const hooks = await startHookListener(config, {
    clock,
    logger: options.logger,
    events,
    ledger: storage.ledger,
    ...(doors.hooks !== undefined && { door: doors.hooks }),
    policies: () => policies.compiled.filter(({ mode }) => mode !== 'off'),
    run: (policy, trigger) => policies.runSoon(policy, trigger),
  });
  if (hooks !== undefined) parts.ending('hooks', 3_000, () => hooks.close());
  return {
    address: server.address,
    ...(hooks !== undefined && { hooks: hooks.address }),
    ...(probes !== undefined && { probes: probes.address }),
    socketPath,
  };
}

/** Returns what the pages, the metrics, the JSON API and the commands read and change. */
function serverDeps({ config, options, events, storage, doors, generation, startedAt }: ListenerDeps): ServerDeps {
  const { clock, logger, reload } = options;
  const { ledger } = storage;
  const { board, policies, metrics, accounts, attempts } = generation;
  return {
    command: ownCommand(options.env, ['--socket', socketPathOf(config.storage.sqlite.path)]),
    clock,
    board,
    ledger,
    logger,
    metrics: (format: MetricsFormat) => metrics.render(format),
    health: generation.health,
    readiness: () => readiness(board, clock.now() - startedAt),
    policies: () => policies.statuses(),
    engine: policies.engine,
    hosts: config.server.hosts,
    tokens: apiTokens(config, events),
    ...(doors.server !== undefined && { door: doors.server }),
    roles: new Map(Object.entries(config.server.users)),
    anonymous: config.server.anonymous,
    ...(reload !== undefined && { reload: (by: string) => reload.request(by) }),
    configHash: config.hash,
    state: {
      auditHead: () => storage.audit.head(),
      backup: (file: string) => storage.copies.write(file),
      adopt: (reason: string, by: string) => {
        const because = ledger.mustBeAdopted;
        ledger.adopt({ at: clock.now(), by, reason });
        return because;
      },
    },
    apiUsage: (account: string) => accounts.usage(account),
    accounts: accounts.connections.map(({ account, client }) => ({
      name: account.name,
      ...(client.messageApi !== undefined && { messageApiUrl: client.messageApi.url }),
      ...(client.managementApi !== undefined && { managementApiUrl: client.managementApi.url }),
      ...(account.limits.dlqRetention !== undefined && { dlqRetentionMs: account.limits.dlqRetention }),
    })),
    outages: (account: string) => attempts.outages(account),
    labels: () => metrics.labelUse(),
    links: [],
    version: options.version,
    startedAt,
  };
}
