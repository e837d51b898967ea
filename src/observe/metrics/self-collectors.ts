/** Gauges of the collectors and of their APIs. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import { SERVICE_ERROR_CODES } from '#foundation/domain/service-error.ts';
import type { Api } from '#foundation/events/events.ts';
import type { CollectorStatus, ObservationBoard } from '../observations/board.ts';
import type { ApiHealth } from './api-health.ts';
import type { Families, Put } from './families.ts';
import type { SelfPart } from './self-part.ts';
import { flag, seconds } from './values.ts';

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

interface CollectorPartDeps {
  readonly board: ObservationBoard;
  readonly families: Families;
  readonly health: ApiHealth;
  readonly accounts: readonly { readonly name: string; readonly apis: readonly Api[] }[];
}

export function collectorPart({ board, families, health, accounts }: CollectorPartDeps): SelfPart {
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
    const hasRun = status.lastRunAt !== undefined;
    put('opsd_collector_interval_seconds', labels, status.intervalMs / 1_000);
    put('opsd_collector_stale', labels, flag(board.isStale(account, collector)));
    put('opsd_collector_success', labels, hasRun ? flag(!status.lastRunFailed) : undefined);
    put('opsd_collector_last_success_timestamp_seconds', labels, seconds(status.lastSuccessAt));
    if (status.lastDurationMs !== undefined) {
      put('opsd_collector_duration_seconds', labels, status.lastDurationMs / 1_000);
    }
    if (collector === 'logs') {
      const lag = board.logLag.of(account);
      put('opsd_log_watermark_timestamp_seconds', { account }, seconds(lag?.watermark));
      put('opsd_log_lag_seconds', { account }, lag?.lagMs === undefined ? undefined : lag.lagMs / 1_000);
      put('opsd_log_catch_up_ratio', { account }, lag?.catchUpRatio);
    }
    if (collector === 'workflowDlq' && hasRun) {
      put('opsd_workflow_dlq_listing_complete', { account }, flag(!status.lastRunFailed));
    }
  }

  /** Returns the health of an API. Without a collector, it is known only for a while after a policy used the API. */
  function isUp(account: string, api: Api, running: readonly CollectorStatus[]): boolean | undefined {
    const intervals = running
      .filter((status) => status.account === account && API_OF[status.collector] === api)
      .map((status) => status.intervalMs);
    if (intervals.length === 0) return health.isUp(account, api, 2 * DEFAULT_INTERVAL_MS);
    return health.isUp(account, api, 2 * Math.max(...intervals)) ?? false;
  }

  return {
    source: 'collectors',
    gauges: [
      'opsd_collector_success',
      'opsd_collector_duration_seconds',
      'opsd_collector_interval_seconds',
      'opsd_collector_last_success_timestamp_seconds',
      'opsd_collector_stale',
      'opsd_log_watermark_timestamp_seconds',
      'opsd_log_lag_seconds',
      'opsd_log_catch_up_ratio',
      'opsd_workflow_dlq_listing_complete',
      'msgsvc_up',
    ],
    fill(put) {
      const running = board.statuses().filter((status) => status.off === undefined);
      for (const status of running) fillCollector(put, status);
      for (const { name: account, apis } of accounts) {
        for (const api of apis) put('msgsvc_up', { account, api }, flag(isUp(account, api, running)));
      }
    },
  };
}
