/** Metrics of the daemon, and their sources. */
import { readStoreFiles } from '#storage/backup-folder.ts';
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import type { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import { createMetrics, type Metrics } from '#observe/metrics/metrics.ts';
import type { MetricsDeps } from '#observe/metrics/sources.ts';
import { deliverySpanOf } from '#observe/tracing/delivery-exemplar.ts';
import type { StoredMetrics } from '#observe/metrics/stored-metrics.ts';
import type { SpanExport } from '#observe/tracing/spans.ts';
import type { Accounts } from './accounts.ts';
import type { Policies } from './automation.ts';
import { certificatesOf, type ListenerSecurities } from './listener-security.ts';
import type { DaemonOptions, Handover } from './options.ts';
import type { Storage } from './storage.ts';
import type { Stores } from './stores.ts';

interface MeteringDeps {
  readonly config: Config;
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly storage: Storage & Stores;
  readonly board: ObservationBoard;
  readonly accounts: Accounts;
  readonly spans: SpanExport | undefined;
  readonly policies: Policies;
  readonly incidents: IncidentWatch;
  readonly budgets: MetricsDeps['budgets'];
  readonly security: ListenerSecurities;
  readonly handed: Handover | undefined;
  /** Absent without canaries. */
  readonly canaries?: MetricsDeps['canaries'];
  readonly stored: StoredMetrics;
}

export function startMetrics(deps: MeteringDeps): Metrics {
  const { config, options, events, storage, board, accounts, spans, policies, incidents, budgets, security, handed } =
    deps;
  const { stored } = deps;
  const { path, backups, replica } = storage;
  const { reload } = options;
  const audited = handed?.audited ?? { records: 0, failures: 0 };
  return createMetrics({
    board,
    events,
    clock: options.clock,
    settings: config.telemetry.metrics,
    accounts: accounts.connections.map(({ account, apis }) => ({
      name: account.name,
      apis,
      requestsPerDay: account.client.requestsPerDay,
      ...(account.limits.dlqRetention !== undefined && { dlqRetentionMs: account.limits.dlqRetention }),
      limits: account.limits,
    })),
    totals: storage.totals,
    labels: storage.labels,
    stored,
    configured: configuredLabels(config),
    ...(spans !== undefined && {
      spanOf: (account: string, messageId: string) => deliverySpanOf(config.telemetry.traces, account, messageId),
      currentSpan: () => spans.own.current(),
    }),
    usage: (account, api) => accounts.clients.get(account)!.usage(api),
    configuredPolicies: policies.compiled,
    policies: () => policies.statuses(),
    incidents: () => incidents.counts(),
    ...(deps.canaries !== undefined && { canaries: deps.canaries }),
    engine: () => policies.engine.readings(),
    ...(budgets !== undefined && { budgets }),
    audit: () => {
      const { records, failures } = storage.auditCounts();
      return { records: records - audited.records, failures: failures - audited.failures };
    },
    savedAt: storage.savedAt,
    store: () => ({
      ...(path !== undefined && readStoreFiles(path)),
      ...(backups !== undefined && { backup: { intervalMs: backups.every, newest: backups.folder.newest } }),
    }),
    ...(replica !== undefined && { leases: () => replica.readings() }),
    logLines: () => options.logLines,
    stateRestored: storage.restored,
    configHash: config.hash,
    certificates: () => certificatesOf(security),
    ...(reload !== undefined && { reload: () => reload.state() }),
    ...(handed !== undefined && { handed: handed.counts }),
    build: { version: options.version, revision: options.env['OPSD_REVISION'] ?? 'unknown' },
  });
}

/** Values of labels in the configuration, by account. */
function configuredLabels(config: Config): (account: string, label: string) => readonly string[] {
  const policies = (account: string) => config.policies.filter(({ settings }) => settings.account === account);
  return (account, label) => {
    const selects = policies(account).map(({ settings }) => settings.select);
    if (label === 'workflow') {
      const urls = selects.flatMap((select) => ('workflowUrl' in select ? (select.workflowUrl ?? []) : []));
      return urls.map(workflowLabel);
    }
    if (label !== 'flow_control_key') return [];
    const watched = config.accounts.find(({ name }) => name === account)?.flowControlKeys ?? [];
    const limited = selects.flatMap((select) => ('flowControlKey' in select ? (select.flowControlKey ?? []) : []));
    return [...watched, ...limited];
  };
}
