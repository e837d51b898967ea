/** Sources of the metrics: the parts of the daemon that the metrics read. */
import type { AccountBudget } from '#foundation/domain/known-budget.ts';
import type { CanaryState } from '#foundation/domain/canary.ts';
import type { EngineReadings, LeaseReadings } from '#foundation/domain/engine-readings.ts';
import type { IncidentState } from '#foundation/domain/incident.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus } from '#foundation/events/events.ts';
import type { LabelStore } from '../aggregation/label-store.ts';
import type { TotalsStore } from '../aggregation/totals.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { HandedCounts } from './family-tables.ts';
import type { MetricsSettings } from './settings.ts';
import type { StoredMetrics } from './stored-metrics.ts';

/** Limits of an account from the configuration, since no operation of the service reads them. */
export interface KnownLimits {
  readonly dlqMessages?: number;
  /** Milliseconds. */
  readonly dlqRetention?: number;
  readonly requestsPerDay?: number;
  readonly requestsPerDayHard?: number;
  readonly requestsPerSecond?: number;
  readonly parallelism?: number;
  readonly globalParallelism?: number;
}

/** Readings of the store's files at one moment. An unavailable value is undefined. */
export interface StoreReadings {
  readonly sizeBytes?: number;
  readonly freeBytes?: number;
  /** Absent if backups are not scheduled. */
  readonly backup?: {
    readonly intervalMs: number;
    readonly newest: { /** Epoch milliseconds. */ readonly at: number; readonly bytes: number } | undefined;
  };
}

/** Facts of the store, for the gauges that show them. */
export interface GaugeFacts {
  readonly policies: readonly PolicyStatus[];
  readonly engine: EngineReadings;
  /** Budgets by account. */
  readonly budgets: ReadonlyMap<string, AccountBudget>;
  /** Bytes of kept bodies of each account that keeps them. */
  readonly bodyBytes: ReadonlyMap<string, number>;
}

export interface MetricsDeps {
  readonly board: ObservationBoard;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly settings: MetricsSettings;
  readonly accounts: readonly {
    readonly name: string;
    readonly apis: readonly Api[];
    readonly requestsPerDay: number;
    /** Retention of dead letters in the service; absent if unknown. */
    readonly dlqRetentionMs?: number;
    readonly limits?: KnownLimits;
  }[];
  /** Totals in the store, mirrored by the metrics. */
  readonly totals: Pick<TotalsStore, 'follow'>;
  /** Store of the places of label values. */
  readonly labels: Pick<LabelStore, 'save' | 'evict'>;
  readonly stored: StoredMetrics;
  /** Returns the values of a label that the configuration of an account names. */
  readonly configured?: (account: string, label: string) => readonly string[];
  /** Returns the span of a message's delivery for exemplars. Undefined if it is not traced. */
  readonly spanOf?: (account: string, messageId: string) => SpanRef | undefined;
  /** Returns the daemon's own current span for exemplars. Undefined if there is none or it is not sampled. */
  readonly currentSpan?: () => SpanRef | undefined;
  readonly usage: (account: string, api: Api) => { readonly usedToday: number };
  /** Policies of the configuration. */
  readonly configuredPolicies: readonly Pick<PolicyStatus, 'account' | 'name'>[];
  /** Reads the store at one moment. */
  readonly facts: () => Promise<GaugeFacts>;
  /** Returns the leases; absent if the daemon does not share its store. */
  readonly leases?: () => LeaseReadings;
  /** Returns the current readings of the store's files. */
  readonly store?: () => StoreReadings;
  /** Returns the number of audit log records written, and of failed writes. */
  readonly audit?: () => { readonly records: number; readonly failures: number };
  /** Returns the epoch milliseconds of the last commit of counters; undefined before the first. */
  readonly savedAt?: () => number | undefined;
  /** Returns the number of log lines written, by level. */
  readonly logLines?: () => ReadonlyMap<string, number>;
  /** Returns the certificates of listeners with TLS. */
  readonly certificates?: () => readonly {
    readonly listener: string;
    /** Epoch milliseconds. */ readonly notAfter: number;
  }[];
  /** Returns the states of all canaries. */
  readonly canaries?: () => readonly Pick<CanaryState, 'account' | 'canary' | 'verdict' | 'lastSuccessAt'>[];
  /** Returns the number of incidents, by account and state. */
  readonly incidents?: () => ReadonlyMap<string, Readonly<Record<IncidentState, number>>>;
  /** Returns the result of the last load of the configuration; undefined if it is never reloaded. */
  readonly reload?: () => {
    readonly ok: boolean;
    /** Epoch milliseconds of the last success. */ readonly goodAt: number;
  };
  readonly stateRestored: boolean;
  readonly configHash: string;
  /** Counts of earlier daemons in this process. */
  readonly handed?: HandedCounts;
  readonly build: { readonly version: string; readonly revision: string };
}
