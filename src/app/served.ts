/** Content that the daemon serves over HTTP. */
import { resolve } from 'node:path';
import { ownCommand } from '#foundation/domain/own-command.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import type { StatusReads } from '#automate/ledger/ledger.ts';
import type { DeployReport } from '#operate/contract/deploys.ts';
import type { MetricsFormat } from '#operate/http/metrics-format.ts';
import type { ServerDeps } from '#operate/server.ts';
import { commandsOf } from './commands.ts';
import type { Generation } from './generation.ts';
import { apiTokens } from './hooks.ts';
import { readiness } from './observation.ts';
import { operationsOf } from './operations.ts';
import type { DaemonProcess } from './process.ts';
import { ownIncidents, readingPorts } from './reading.ts';
import { counterResets } from './reset-counters.ts';
import type { RoutedCommands } from './routed.ts';
import type { Views } from './views.ts';

interface ServedDeps extends DaemonProcess {
  /** Absent if the store is not shared. */
  readonly views: Views | undefined;
  /** Commands to all replicas; undefined if the store is not shared. */
  readonly routed: RoutedCommands | undefined;
  /** Base URL of the listener; undefined before it is open. */
  readonly address: () => string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** Returns the data and commands for the pages, the metrics, the JSON API and the CLI. */
export function servedBy(generation: Generation, deps: ServedDeps): ServerDeps {
  const { options, events, storage, security, gate, startedAt } = deps;
  const { clock, logger, reload } = options;
  const { ledger } = storage;
  const { config, whole, board, policies, metrics, accounts, attempts } = generation;
  const connections = new Map(accounts.connections.map(({ account, client }) => [account.name, client]));
  const own = {
    command: ownCommand(options.env, options.direct === undefined ? [] : ['--config', config.sourceFile]),
    // Commands without options find the daemon by the default configuration file.
    ...(resolve(options.env['OPSD_CONFIG'] || 'config.yaml') !== resolve(config.sourceFile) && {
      socket: socketPathOf(config.localPath),
    }),
    clock,
    board,
    ledger,
    logger,
    metrics: (format: MetricsFormat) => metrics.render(format),
    health: generation.health,
    readiness: () => readiness(board, clock.now() - startedAt),
    policies: (view?: StatusReads) => policies.statuses(view),
    engine: deps.routed?.engine ?? commandsOf(gate, () => deps.generation().policies.engine),
    operate: deps.routed?.operate ?? operationsOf(deps),
    deploy: async (report: DeployReport, by: string) => {
      const { takeDeploy } = await import('#operate/hooks/deploy-hook.ts');
      const known = {
        accounts: () => whole.accounts.map(({ name }) => name),
        policies: () => generation.allPolicies.filter(({ mode }) => mode !== 'off'),
      };
      return takeDeploy({ ledger, clock, events, ...known }, report, by);
    },
    hosts: config.server.hosts,
    tokens: apiTokens(config, events),
    security: security.server,
    roles: new Map(Object.entries(config.server.users)),
    anonymous: config.server.anonymous,
    reload: reload && ((by: string) => reload.request(by)),
    configHash: config.hash,
    pagesUrl: () => config.server.externalUrl ?? deps.address(),
    state: {
      auditHead: () => storage.auditReader.head(),
      backup: (file: string) => storage.copy(file),
      adopt: (reason: string, by: string) => ledger.adopt({ at: clock.now(), by, reason }),
      resetCounters: counterResets(generation, storage),
    },
    apiUsage: (account: string) => accounts.usage(account),
    accounts: whole.accounts.map((account) => {
      const { messageApi, managementApi } = connections.get(account.name) ?? account;
      return {
        name: account.name,
        messageApiUrl: messageApi?.url,
        managementApiUrl: managementApi?.url,
        dlqRetentionMs: account.limits.dlqRetention,
      };
    }),
    headerPrefix: (account: string) => whole.accounts.find(({ name }) => name === account)?.wire.headerPrefix,
    outages: (account: string) => attempts.outages(account),
    incidents: ownIncidents(generation, storage),
    labels: () => metrics.labelUse(),
    ...readingPorts(generation, { storage, options }),
    links: [],
    tour: options.tour,
    entry: options.entry,
    version: options.version,
    startedAt,
  };
  return deps.views?.shown(own, generation) ?? own;
}
