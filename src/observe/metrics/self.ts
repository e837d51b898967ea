/** What the daemon knows of itself at the moment of a scrape: collectors, quota, policies, health of the APIs. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import { RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { SERVICE_ERROR_CODES } from '#foundation/domain/service-error.ts';
import type { CollectorStatus, ObservationBoard } from '../observations/board.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus, OpsEvent } from '#foundation/events/events.ts';
import type { ApiHealth } from './api-health.ts';
import type { GaugeName } from '../catalog/catalog.ts';
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
  readonly events: EventBus;
  readonly clock: Clock;
  readonly policies: () => readonly PolicyStatus[];
  readonly engine: () => EngineReadings;
  readonly budget: (account: string) => BudgetKnowledge | undefined;
  readonly onFailure: (source: SelfSource) => void;
}

type SelfSource = Extract<Source, 'collectors' | 'usage' | 'policies' | 'ledger'>;

export interface SelfMetrics extends Disposable {
  /** Brings the metrics up to date, without awaiting. */
  refresh(): void;
}

/** After these the engine is read anew with the next scrape; windows and expiries move without any. */
const CHANGES: ReadonlySet<OpsEvent['type']> = new Set([
  'policy.run',
  'action.outcome',
  'campaign.changed',
  'engine.paused',
  'engine.unpaused',
  'engine.recovered',
  'notice',
]);
const KEPT_MS = 10_000;

const BREAKERS = { closed: 0, 'half-open': 1, open: 2 } as const;

/** Gauges that are exchanged together, and what makes them. */
interface Part {
  readonly source: SelfSource;
  readonly gauges: readonly GaugeName[];
  readonly fill: (put: Put) => void;
  /** It is read from the store: again when something happened, and every so often. */
  readonly isKept?: true;
}

export function createSelfMetrics(deps: SelfDeps): SelfMetrics {
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
        'opsd_logs_lag_seconds',
        'opsd_logs_catch_up_ratio',
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
      isKept: true,
      gauges: [
        'opsd_policy_mode_info',
        'opsd_policy_next_run_timestamp_seconds',
        'opsd_policy_held_since_timestamp_seconds',
        'opsd_campaign_step_items',
        'opsd_breaker_state',
      ],
      fill(put) {
        for (const status of deps.policies()) fillPolicy(put, status);
      },
    },
    {
      source: 'ledger',
      isKept: true,
      gauges: [
        'opsd_unknown_outcomes',
        'opsd_oldest_intent_timestamp_seconds',
        'opsd_approvals_pending',
        'opsd_oldest_approval_timestamp_seconds',
        'opsd_cap_remaining',
        'opsd_paused',
        'opsd_leader',
        'msgsvc_account_budget_dollars',
        'msgsvc_account_budget_asserted_timestamp_seconds',
      ],
      fill(put) {
        fillEngine(put, deps.engine());
        for (const { name } of accounts) fillBudget(put, name, deps.budget(name));
      },
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
      const lag = board.logLag.of(account);
      put('opsd_logs_watermark_timestamp_seconds', { account }, seconds(lag?.watermark));
      put('opsd_logs_lag_seconds', { account }, lag?.lagMs === undefined ? undefined : lag.lagMs / 1_000);
      put('opsd_logs_catch_up_ratio', { account }, lag?.catchUpRatio);
    }
    if (collector === 'workflowDlq' && hasRun) {
      put('opsd_workflow_dlq_listing_complete', { account }, flag(!status.lastRunFailed));
    }
  }

  /** Of an API that no collector asks nothing is known but for a while after a policy asked it. */
  function isUp(account: string, api: Api, running: readonly CollectorStatus[]): boolean | undefined {
    const intervals = running
      .filter((status) => status.account === account && API_OF[status.collector] === api)
      .map((status) => status.intervalMs);
    if (intervals.length === 0) return deps.health.isUp(account, api, 2 * DEFAULT_INTERVAL_MS);
    return deps.health.isUp(account, api, 2 * Math.max(...intervals)) ?? false;
  }

  function fillPolicy(put: Put, status: PolicyStatus): void {
    const { account, name: policy, owner = '', mode, effectiveMode } = status;
    createTogether(`policy\0${account}\0${policy}`, () => {
      for (const outcome of RUN_OUTCOMES) families.add('opsd_policy_runs_total', { account, policy, outcome }, 0);
      families.add('opsd_policy_evaluation_errors_total', { account, policy }, 0);
    });
    put('opsd_policy_mode_info', { account, policy, owner, mode, effective_mode: effectiveMode }, 1);
    put('opsd_policy_next_run_timestamp_seconds', { account, policy }, seconds(status.nextRunAt));
    if (status.held !== undefined) {
      const { guard, since } = status.held;
      put('opsd_policy_held_since_timestamp_seconds', { account, policy, guard }, since / 1_000);
    }
    for (const { group, size, breaker } of status.campaigns) {
      put('opsd_campaign_step_items', { account, policy, group }, size);
      put('opsd_breaker_state', { account, policy, group }, BREAKERS[breaker]);
    }
  }

  function fillEngine(put: Put, engine: EngineReadings): void {
    put('opsd_unknown_outcomes', {}, engine.unknownOutcomes);
    put('opsd_oldest_intent_timestamp_seconds', {}, seconds(engine.oldestIntentAt));
    for (const { account, name: policy } of deps.policies()) put('opsd_approvals_pending', { account, policy }, 0);
    for (const { account, policy, since } of engine.approvals) {
      put('opsd_approvals_pending', { account, policy }, 1);
      put('opsd_oldest_approval_timestamp_seconds', { account, policy }, since / 1_000);
    }
    for (const { scope, window, remaining } of engine.caps) put('opsd_cap_remaining', { scope, window }, remaining);
    for (const [scope, isPaused] of engine.paused) put('opsd_paused', { scope }, flag(isPaused));
    put('opsd_leader', {}, flag(engine.isLeader));
  }

  function fillBudget(put: Put, account: string, known: BudgetKnowledge | undefined): void {
    if (known === undefined) return;
    const labels = { account, origin: known.origin };
    put('msgsvc_account_budget_dollars', labels, known.knownUsd);
    put('msgsvc_account_budget_asserted_timestamp_seconds', labels, seconds(known.assertedAt));
  }

  const readAt = new Map<SelfSource, number>();
  const subscription = deps.events.subscribe(({ type }) => {
    if (CHANGES.has(type)) readAt.clear();
  });

  function refresh({ source, gauges, fill, isKept }: Part): void {
    const now = deps.clock.monotonic();
    if (isKept && now - (readAt.get(source) ?? -Infinity) < KEPT_MS) return;
    const { put, samples } = families.collect(source);
    try {
      fill(put);
      families.exchange(gauges, [samples]);
      readAt.set(source, now);
    } catch {
      families.exchange(gauges, []);
      deps.onFailure(source);
    }
  }

  return {
    refresh() {
      for (const part of parts) refresh(part);
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
