/** Metrics of the daemon, and their sources. */
import { readStoreFiles } from '#storage/backup-folder.ts';
import type { Config } from '#config/config.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import type { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import { createMetrics, type Metrics } from '#observe/metrics/metrics.ts';
import type { GaugeFacts, MetricsDeps } from '#observe/metrics/sources.ts';
import { deliverySpanOf } from '#observe/tracing/span-sampling.ts';
import type { Policies } from './automation.ts';
import { bodyBytes } from './bodies.ts';
import { certificatesOf } from './listener-security.ts';
import type { GenerationBase } from './generation-base.ts';
import { accountBudgets } from './observation.ts';

interface Metered extends Pick<MetricsDeps, 'stored' | 'canaries'> {
  readonly policies: Policies;
  readonly incidents: IncidentWatch;
}

export function startMetrics(base: GenerationBase, { policies, incidents, ...metered }: Metered): Metrics {
  const { config, options, events, storage, board, accounts, spans, security, handed } = base;
  const { path, backups, replica } = storage;
  const { reload } = options;
  const audited = handed?.audited ?? { records: 0, failures: 0 };
  return createMetrics({
    ...metered,
    board,
    events,
    clock: options.clock,
    settings: config.telemetry.metrics,
    accounts: accounts.connections.map(({ account, apis, target: { dlqRetentionMs } }) => {
      const { name, client, limits } = account;
      return { name, apis, requestsPerDay: client.requestsPerDay, dlqRetentionMs, limits };
    }),
    totals: storage.totals,
    labels: storage.labels,
    configured: configuredLabels(config),
    spanOf: spans && ((account, messageId) => deliverySpanOf(config.telemetry.traces, account, messageId)),
    currentSpan: spans && (() => spans.own.current()),
    usage: (account, api) => accounts.clients.get(account)!.usage(api),
    configuredPolicies: policies.compiled,
    incidents: () => incidents.counts(),
    facts: () => gaugeFacts(base, policies),
    audit: () => {
      const { records, failures } = storage.auditCounts();
      return { records: records - audited.records, failures: failures - audited.failures };
    },
    savedAt: storage.savedAt,
    store: () => ({
      ...(path !== undefined && readStoreFiles(path)),
      backup: backups && { intervalMs: backups.every, newest: backups.folder.newest },
    }),
    leases: replica && (() => replica.readings()),
    logLines: () => options.logLines,
    stateRestored: storage.restored,
    configHash: config.hash,
    certificates: () => certificatesOf(security),
    reload: reload && (() => reload.state()),
    handed: handed?.counts,
    build: { version: options.version, revision: options.env['OPSD_REVISION'] ?? 'unknown' },
  });
}

/** Reads all facts of the gauges in one view: with PostgreSQL, each view is a transaction. */
async function gaugeFacts(base: GenerationBase, { engine, statuses }: Policies): Promise<GaugeFacts> {
  const { ledger } = base.storage;
  // Outside of the view, this tries again to write to an audit log that could not be written.
  if (ledger.mustBeAdopted !== undefined) await ledger.leaseLost();
  return ledger.view(async (view) => {
    const [policies, readings, budgets, bytes] = await Promise.all([
      statuses(view),
      engine.readings(view),
      accountBudgets(base.config, view),
      bodyBytes(base, view),
    ]);
    return { policies, engine: readings, budgets, bodyBytes: bytes };
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
