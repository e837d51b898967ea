/**
 * Metrics of the daemon's own state, which each scrape updates: collectors, health of the APIs, quota, leases, files of
 * the store, canaries, incidents, and totals that other parts count.
 */
import { createHash } from 'node:crypto';
import { CANARY_OUTCOMES } from '#foundation/domain/canary.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import { SERVICE_ERROR_CODES } from '#foundation/domain/service-error.ts';
import type { Api } from '#foundation/events/events.ts';
import type { CounterName, LabelsOf } from '../catalog/catalog.ts';
import type { CollectorStatus } from '../observations/board.ts';
import type { ApiHealth } from './api-health.ts';
import type { Families, Put } from './families.ts';
import type { MetricsDeps } from './sources.ts';
import { flagValue, seconds } from './values.ts';

export interface PartDeps extends MetricsDeps {
  readonly families: Families;
  readonly health: ApiHealth;
}

/** Returns functions that update the metrics. Each is separate, so that a failing one does not affect the others. */
export function daemonParts(deps: PartDeps): readonly (() => void)[] {
  const { families, leases, store, canaries, reload, certificates, savedAt } = deps;
  const follow = followTotals(families);
  return [
    families.part('collectors', collectorGauges(deps)),
    families.part('usage', quotaGauges(deps)),
    families.part('store', (put) => {
      const { accounts = [], unowned } = leases?.() ?? {};
      for (const { account, isOwn, epoch, takeovers } of accounts) {
        put('opsd_lease_owner', { account }, flagValue(isOwn));
        put('opsd_lease_epoch', { account }, epoch);
        follow('opsd_lease_takeovers_total', { account }, takeovers);
      }
      put('opsd_accounts_unowned', {}, unowned);
    }),
    families.part('store', (put) => {
      const { sizeBytes, freeBytes, backup } = store?.() ?? {};
      put('opsd_store_size_bytes', {}, sizeBytes);
      put('opsd_store_free_bytes', {}, freeBytes);
      put('opsd_backup_interval_seconds', {}, seconds(backup?.intervalMs));
      put('opsd_backup_last_success_timestamp_seconds', {}, seconds(backup?.newest?.at));
      put('opsd_backup_size_bytes', {}, backup?.newest?.bytes);
    }),
    families.part('process', (put) => {
      for (const { account, canary, verdict, lastSuccessAt } of canaries?.() ?? []) {
        put('msgsvc_canary_verdict_info', { account, canary, verdict }, 1);
        put('msgsvc_canary_last_success_timestamp_seconds', { account, canary }, seconds(lastSuccessAt));
        // The events count them; each exists from the start.
        for (const outcome of CANARY_OUTCOMES) {
          follow('msgsvc_canary_messages_total', { account, canary, outcome }, 0);
        }
      }
    }),
    families.part('process', (put) => {
      for (const [account, counts] of deps.incidents?.() ?? []) {
        for (const [state, count] of Object.entries(counts)) put('opsd_incidents', { account, state }, count);
      }
    }),
    families.part('process', (put) => {
      const last = reload?.();
      put('opsd_config_last_reload_successful', {}, flagValue(last?.ok));
      put('opsd_config_last_reload_success_timestamp_seconds', {}, seconds(last?.goodAt));
      put('opsd_state_last_save_timestamp_seconds', {}, seconds(savedAt?.()));
      for (const { listener, notAfter } of certificates?.() ?? []) {
        put('opsd_tls_certificate_not_after_timestamp_seconds', { listener }, notAfter / 1_000);
      }
    }),
    () => {
      for (const [level, total] of deps.logLines?.() ?? []) follow('opsd_log_messages_total', { level }, total);
    },
    () => {
      const { records = 0, failures = 0 } = deps.audit?.() ?? {};
      follow('opsd_audit_records_total', {}, records);
      follow('opsd_audit_write_errors_total', {}, failures);
    },
  ];
}

/** Returns a function that adds the increase of a total that another part counts. */
function followTotals(families: Families) {
  const known = new Map<string, number>();
  return <N extends CounterName>(metric: N, labels: LabelsOf<N>, total: number): void => {
    const key = [metric, ...Object.values(labels)].join('\0');
    const before = known.get(key);
    if (before === total) return;
    families.add(metric, labels, Math.max(0, total - (before ?? 0)));
    known.set(key, total);
  };
}

/** Sets gauges that do not change while the process runs. */
export function sayOnce({ families, accounts, settings, build, ...deps }: PartDeps): void {
  families.part('process', (put) => {
    put('opsd_build_info', { ...build, node_version: process.version }, 1);
    put('opsd_series_limit', {}, settings.maxSeries);
    put('opsd_state_restored', {}, flagValue(deps.stateRestored));
    put('opsd_config_hash', {}, numberOf(deps.configHash));
    for (const { name: account, limits = {} } of accounts) {
      put('msgsvc_account_limit_dlq_messages', { account }, limits.dlqMessages);
      put('msgsvc_account_limit_dlq_retention_seconds', { account }, seconds(limits.dlqRetention));
      put('msgsvc_account_limit_day_requests', { account, kind: 'soft' }, limits.requestsPerDay);
      put('msgsvc_account_limit_day_requests', { account, kind: 'hard' }, limits.requestsPerDayHard);
      put('msgsvc_account_limit_requests_per_second', { account }, limits.requestsPerSecond);
      put('msgsvc_account_limit_parallelism', { account, scope: 'endpoint' }, limits.parallelism);
      put('msgsvc_account_limit_parallelism', { account, scope: 'global' }, limits.globalParallelism);
    }
  })();
}

/** Returns 48 bits of a hash. These are the most hex digits that a sample holds exactly and an operator can compare. */
function numberOf(hash: string): number {
  const hex = /^[0-9a-f]{12}/i.test(hash) ? hash : createHash('sha256').update(hash).digest('hex');
  return Number.parseInt(hex.slice(0, 12), 16);
}

/** API of each collector. The interval of a collector determines the maximum age of a successful response. */
const API_OF: Readonly<Record<CollectorName, Api>> = {
  logs: 'message',
  flowControl: 'message',
  workflowDlq: 'message',
  urlGroups: 'message',
  accountStats: 'management',
  searchIndexes: 'management',
  vectorStats: 'management',
};

/** Interval for an API that no collector uses. */
const DEFAULT_INTERVAL_MS = 300_000;

function collectorGauges({ board, families, health, accounts }: PartDeps): (put: Put) => void {
  /** Collectors whose counters exist. */
  const known = new Set<string>();

  function createCounters(labels: { readonly account: string; readonly collector: CollectorName }): void {
    const key = `${labels.account}\0${labels.collector}`;
    if (known.has(key)) return;
    known.add(key);
    families.add('opsd_collector_runs_total', labels, 0);
    for (const reason of [...SERVICE_ERROR_CODES, 'internal']) {
      families.add('opsd_collector_failures_total', { ...labels, reason }, 0);
    }
    for (const reason of ['overlap', 'quota'])
      families.add('opsd_collector_runs_skipped_total', { ...labels, reason }, 0);
  }

  function fillCollector(put: Put, status: CollectorStatus): void {
    const { account, collector } = status;
    const labels = { account, collector };
    createCounters(labels);
    const isSuccess = status.lastRunAt === undefined ? undefined : flagValue(!status.lastRunFailed);
    put('opsd_collector_interval_seconds', labels, status.intervalMs / 1_000);
    put('opsd_collector_stale', labels, flagValue(board.isStale(account, collector)));
    put('opsd_collector_success', labels, isSuccess);
    put('opsd_collector_last_success_timestamp_seconds', labels, seconds(status.lastSuccessAt));
    put('opsd_collector_duration_seconds', labels, inSeconds(status.lastDurationMs));
    if (collector === 'logs') {
      const lag = board.logLag.of(account);
      put('opsd_log_watermark_timestamp_seconds', { account }, seconds(lag?.watermark));
      put('opsd_log_lag_seconds', { account }, inSeconds(lag?.lagMs));
      put('opsd_log_catch_up_ratio', { account }, lag?.catchUpRatio);
    }
    if (collector === 'workflowDlq') put('opsd_workflow_dlq_listing_complete', { account }, isSuccess);
  }

  /** Returns the health of an API. Without a collector, it is known only for a while after a policy used the API. */
  function isUp(account: string, api: Api, running: readonly CollectorStatus[]): boolean | undefined {
    const intervals = running
      .filter((status) => status.account === account && API_OF[status.collector] === api)
      .map((status) => status.intervalMs);
    if (intervals.length === 0) return health.isUp(account, api, 2 * DEFAULT_INTERVAL_MS);
    return health.isUp(account, api, 2 * Math.max(...intervals)) ?? false;
  }

  return (put) => {
    const running = board.statuses().filter((status) => status.off === undefined);
    for (const status of running) fillCollector(put, status);
    for (const { name: account, apis } of accounts) {
      for (const api of apis) put('msgsvc_up', { account, api }, flagValue(isUp(account, api, running)));
    }
  };
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

/** Gauges of each API of each account: the quota, its used part, and counters that start at 0. */
function quotaGauges({ accounts, families, usage }: PartDeps): (put: Put) => void {
  const apisOfAccounts = accounts.flatMap(({ name, apis, requestsPerDay }) =>
    apis.map((api) => ({ labels: { account: name, api }, requestsPerDay })),
  );
  for (const { labels } of apisOfAccounts) {
    families.add('opsd_api_throttled_requests_total', labels, 0);
    families.add('opsd_api_throttle_wait_seconds_total', labels, 0);
  }
  return (put) => {
    for (const { labels, requestsPerDay } of apisOfAccounts) {
      put('opsd_api_quota_requests', labels, requestsPerDay);
      put('opsd_api_quota_used_requests', labels, usage(labels.account, labels.api).usedToday);
    }
  };
}
