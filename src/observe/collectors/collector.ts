/**
 * Interface of a collector: one read of one resource of one account. A collector knows neither metrics nor schedules
 * and keeps no state between runs. It returns a complete batch or none.
 */
import type { ServiceClient } from '#service/api.ts';
import type { EndedAttemptsRead } from '#foundation/domain/ended-attempts.ts';
import type { Batch, CollectorName, Observations } from '#foundation/domain/observation.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { SpanSource } from '../aggregation/span-outbox.ts';
import type { OwnActions } from '../aggregation/workflow-dlq.ts';
import type { AggregationStores } from '../aggregation/stores.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api } from '#foundation/events/events.ts';
import type { CollectorsSettings } from './settings.ts';

/** Target of a collector: an account as configured. */
export interface CollectorTarget {
  readonly account: string;
  /** Id of the account in the management API. */
  readonly accountId?: string;
  readonly hasMessageApi: boolean;
  readonly hasManagementApi: boolean;
  readonly flowControlKeys: readonly string[];
  readonly searchIndexes: readonly string[];
  readonly vectorIndexes: readonly string[];
  /** Milliseconds that the service keeps dead letters; absent if unknown. */
  readonly dlqRetentionMs?: number;
  readonly settings: CollectorsSettings;
}

export interface CollectorContext<N extends CollectorName = CollectorName> {
  readonly target: CollectorTarget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly stores: AggregationStores;
  /** Makes the spans that are stored with a commit. Absent if tracing is off. */
  readonly spans?: SpanSource;
  /** Makes the delivery events that are stored with a commit. Absent if they are disabled. */
  readonly lines?: (progress: readonly MessageProgress[]) => readonly string[];
  /** Receives the ended delivery attempts as counted. Called after each commit of the log. */
  readonly onAttempts?: (read: EndedAttemptsRead) => void;
  /** Receives the watermark of the log at the start of a run and after each commit. */
  readonly onWatermark?: (watermark: number) => void;
  /** Called when the watermark of the log was ahead of our clock and was reset. Times are epoch milliseconds. */
  readonly onSetBack?: (from: number, to: number) => void;
  /**
   * Returns the value, or `other` if no more values of this label are admitted.
   *
   * @param amount number of occurrences; default 1; 0 if the caller reports it later
   */
  admit(
    label: 'destination' | 'value' | 'series' | 'workflow' | 'flow_control_key',
    value: string,
    amount?: number,
  ): string;
  /** Returns the daemon's own actions on entries of the workflow DLQ, except those without an effect. */
  actedOn?(dlqIds: Iterable<string>): Promise<OwnActions>;
  /** Returns the known monthly budget in US dollars; Infinity if unlimited. */
  budgetUsd?(): Promise<number | undefined>;
  /** Latest batch of this collector for this account, regardless of age. */
  readonly previous?: Batch<N>;
}

export interface Collected<N extends CollectorName> {
  readonly rows: readonly Observations[N][];
  /** Number of rows that are missing because they are invalid or do not exist. */
  readonly dropped: number;
}

export interface Collector<N extends CollectorName> {
  readonly name: N;
  readonly api: Api;
  /**
   * Returns why the account does not need this collector: disabled, API missing, or nothing configured. Else undefined.
   */
  off(target: CollectorTarget): string | undefined;
  /** @throws a `ServiceError`, a `ListingError`, or the signal's reason; there is no batch then */
  collect(client: ServiceClient, context: CollectorContext<N>): Promise<Collected<N>>;
}

interface CollectorParts<N extends CollectorName, A extends Api> {
  readonly name: N;
  readonly api: A;
  /** Returns what an account with this API lacks, if anything. */
  readonly lacks?: (target: CollectorTarget) => string | undefined;
  readonly collect: (api: NonNullable<ServiceClient[A]>, context: CollectorContext<N>) => Promise<Collected<N>>;
}

export function collectorOf<N extends CollectorName, A extends Api>(parts: CollectorParts<N, A>): Collector<N> {
  const { name, api, lacks } = parts;
  return {
    name,
    api,
    off(target) {
      if (!target.settings[name].enabled) return 'disabled in the configuration';
      const hasApi = api === 'message' ? target.hasMessageApi : target.hasManagementApi;
      return hasApi ? lacks?.(target) : `the account has no ${api} API configured`;
    },
    async collect(client, context) {
      const found = client[api];
      if (found === undefined) throw new Error(`the client has no ${api} API: this collector should be off`);
      return parts.collect(found, context);
    },
  };
}
