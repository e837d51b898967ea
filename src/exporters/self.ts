/** What the daemon knows of itself at the moment of a scrape: collectors, quota, policies, health of the APIs. */
import type { CollectorName } from '../domain/observation.ts';
import { RUN_OUTCOMES } from '../domain/plan.ts';
import type { PolicyStatus } from '../domain/policy-status.ts';
import { SERVICE_ERROR_CODES } from '../domain/service-error.ts';
import type { CollectorStatus, ObservationBoard } from '../observations/board.ts';
import type { Api } from '../platform/events.ts';
import type { ApiHealth } from './api-health.ts';
import type { GaugeName } from './catalog.ts';
import type { Families, Put, Source } from './families.ts';
import { flag, seconds } from './values.ts';

/** Which API a collector asks: how often it runs decides how old a good answer may be. */
const API_OF: Readonly<Record<CollectorName, Api>> = {
  logs: 'message',
  flowControl: 'message',
  workflowDlq: 'message',
  urlGroups: 'message',
  accountStats: 'management',
  searchIndexes: 'management',
  vectorStats: 'management',
};

/** For an API that no collector asks. */
const DEFAULT_INTERVAL_MS = 300_000;

export interface SelfDeps {
  readonly board: ObservationBoard;
  readonly families: Families;
  readonly health: ApiHealth;
  readonly accounts: readonly {
    readonly name: string;
    readonly apis: readonly Api[];
    readonly requestsPerDay: number;
  }[];
  readonly usage: (account: string, api: Api) => { readonly usedToday: number };
  readonly policies: () => readonly PolicyStatus[];
  readonly unknownOutcomes: () => number;
  readonly onFailure: (source: SelfSource) => void;
}

type SelfSource = Extract<Source, 'collectors' | 'usage' | 'policies' | 'ledger'>;

/** Gauges that are exchanged together, and what makes them. */
interface Part {
  readonly source: SelfSource;
  readonly gauges: readonly GaugeName[];
  readonly fill: (put: Put) => void;
}

/** @returns a function that brings the metrics up to date, without awaiting */
export function createSelfMetrics(deps: SelfDeps): () => void {
  const { board, families, accounts } = deps;

  for (const { name: account, apis, requestsPerDay } of accounts) {
    for (const api of apis) {
      families.add('opsd_api_throttled_requests_total', { account, api }, 0);
      families.add('opsd_api_throttle_wait_seconds_total', { account, api }, 0);
      families.set('opsd_api_quota_requests', { account, api }, requestsPerDay);
    }
  }

  const parts: readonly Part[] = [
    {
      source: 'collectors',
      gauges: [
        'opsd_collector_success',
        'opsd_collector_duration_seconds',
        'opsd_collector_interval_seconds',
        'opsd_collector_last_success_timestamp_seconds',
        'opsd_collector_stale',
        'opsd_logs_watermark_timestamp_seconds',
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
    },
    {
      source: 'usage',
      gauges: ['opsd_api_quota_used_requests'],
      fill(put) {
        for (const { name: account, apis } of accounts) {
          for (const api of apis) {
            put('opsd_api_quota_used_requests', { account, api }, deps.usage(account, api).usedToday);
          }
        }
      },
    },
    {
      source: 'policies',
      gauges: ['opsd_policy_mode_info', 'opsd_policy_next_run_timestamp_seconds'],
      fill(put) {
        for (const status of deps.policies()) fillPolicy(put, status);
      },
    },
    {
      source: 'ledger',
      gauges: ['opsd_unknown_outcomes'],
      fill: (put) => put('opsd_unknown_outcomes', {}, deps.unknownOutcomes()),
    },
  ];

  /** Collectors and policies whose counters exist already. */
  const known = new Set<string>();

  function createTogether(id: string, create: () => void): void {
    if (known.has(id)) return;
    known.add(id);
    create();
  }

  function createCollectorCounters(labels: { readonly account: string; readonly collector: string }): void {
    families.add('opsd_collector_runs_total', labels, 0);
    for (const reason of [...SERVICE_ERROR_CODES, 'internal']) {
      families.add('opsd_collector_failures_total', { ...labels, reason }, 0);
    }
    for (const reason of ['overlap', 'quota']) families.add('opsd_collector_skipped_total', { ...labels, reason }, 0);
  }

  function fillCollector(put: Put, status: CollectorStatus): void {
    const { account, collector } = status;
    const labels = { account, collector };
    createTogether(`collector\0${account}\0${collector}`, () => createCollectorCounters(labels));
    const hasRun = status.lastRunAt !== undefined;
    put('opsd_collector_interval_seconds', labels, status.intervalMs / 1_000);
    put('opsd_collector_stale', labels, flag(board.isStale(account, collector)));
    put('opsd_collector_success', labels, hasRun ? flag(!status.lastRunFailed) : undefined);
    put('opsd_collector_last_success_timestamp_seconds', labels, seconds(status.lastSuccessAt));
    if (status.lastDurationMs !== undefined) {
      put('opsd_collector_duration_seconds', labels, status.lastDurationMs / 1_000);
    }
    if (collector === 'logs') {
      const progress = board.latest(account, 'logs')?.rows[0];
      put('opsd_logs_watermark_timestamp_seconds', { account }, seconds(progress?.watermark));
    }
    if (collector === 'workflowDlq' && hasRun) {
      put('opsd_workflow_dlq_listing_complete', { account }, flag(!status.lastRunFailed));
    }
  }

  function isUp(account: string, api: Api, running: readonly CollectorStatus[]): boolean {
    const intervals = running
      .filter((status) => status.account === account && API_OF[status.collector] === api)
      .map((status) => status.intervalMs);
    const interval = intervals.length === 0 ? DEFAULT_INTERVAL_MS : Math.max(...intervals);
    return deps.health.isUp(account, api, 2 * interval);
  }

  function fillPolicy(put: Put, status: PolicyStatus): void {
    const { account, name: policy, owner = '', mode, effectiveMode } = status;
    createTogether(`policy\0${account}\0${policy}`, () => {
      for (const outcome of RUN_OUTCOMES) families.add('opsd_policy_runs_total', { account, policy, outcome }, 0);
      families.add('opsd_policy_evaluation_errors_total', { account, policy }, 0);
    });
    put('opsd_policy_mode_info', { account, policy, owner, mode, effective_mode: effectiveMode }, 1);
    put('opsd_policy_next_run_timestamp_seconds', { account, policy }, seconds(status.nextRunAt));
  }

  return () => {
    for (const { source, gauges, fill } of parts) {
      const { put, samples } = families.collect(source);
      try {
        fill(put);
        families.exchange(gauges, [samples]);
      } catch {
        families.exchange(gauges, []);
        deps.onFailure(source);
      }
    }
  };
}
