/**
 * What a collector is: one read of one resource of one account. It sees and says; it knows neither metrics nor
 * schedules, keeps nothing between runs, and answers with a complete batch or not at all.
 */
import type { ServiceClient } from '#service/api.ts';
import type { EndedAttemptsRead } from '#foundation/domain/ended-attempts.ts';
import type { Batch, CollectorName, Observations } from '#foundation/domain/observation.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { SpanSource } from '../aggregation/span-outbox.ts';
import type { FoldStores } from '../aggregation/stores.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api } from '#foundation/events/events.ts';
import type { CollectorsSettings } from './settings.ts';

/** What is watched: an account as the configuration names it. */
export interface CollectorTarget {
  readonly account: string;
  /** Id of the account in the management API. */
  readonly accountId?: string;
  readonly hasMessageApi: boolean;
  readonly hasManagementApi: boolean;
  readonly flowControlKeys: readonly string[];
  readonly searchIndexes: readonly string[];
  readonly vectorIndexes: readonly string[];
  /** Milliseconds that the service keeps dead letters; absent when that is not known. */
  readonly dlqRetentionMs?: number;
  readonly settings: CollectorsSettings;
}

export interface CollectorContext<N extends CollectorName = CollectorName> {
  readonly target: CollectorTarget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly stores: FoldStores;
  /** Makes the spans that are stored with a commit. Absent while tracing is off. */
  readonly spans?: SpanSource;
  /** Makes the lines that are stored with a commit, for log pipelines. Absent when nobody wants them. */
  readonly lines?: (progress: readonly MessageProgress[]) => readonly string[];
  /** Takes the attempts to deliver that ended, as they were counted; called after each commit of the log. */
  readonly onAttempts?: (read: EndedAttemptsRead) => void;
  /** Takes the watermark of the log: when a run begins, and after each commit. */
  readonly onWatermark?: (watermark: number) => void;
  /** Called when the watermark of the log was ahead of our clock and was set back; epoch milliseconds. */
  readonly onSetBack?: (from: number, to: number) => void;
  /**
   * The value, or `other` when no more values of this label are admitted.
   *
   * @param amount how much of it was seen, 1 unless given; 0 when that is told later
   */
  admit(
    label: 'destination' | 'value' | 'series' | 'workflow' | 'flow_control_key',
    value: string,
    amount?: number,
  ): string;
  /** What the daemon itself did to an entry of the workflow DLQ; undefined when nothing that had an effect. */
  actedOn?(dlqId: string): 'resumed' | 'deleted' | undefined;
  /** What may be spent in a month, where that is known; Infinity when there is no limit. */
  readonly budgetUsd?: number;
  /** The latest batch of this collector for this account, however old. */
  readonly previous?: Batch<N>;
}

export interface Collected<N extends CollectorName> {
  readonly rows: readonly Observations[N][];
  /** Rows that are missing because they could not be understood or do not exist. */
  readonly dropped: number;
}

export interface Collector<N extends CollectorName> {
  readonly name: N;
  readonly api: Api;
  /** Why this account does not need it (switched off, API missing, nothing configured), else undefined. */
  off(target: CollectorTarget): string | undefined;
  /** @throws a `ServiceError`, a `ListingError`, or the signal's reason; then there is no batch */
  collect(client: ServiceClient, context: CollectorContext<N>): Promise<Collected<N>>;
}

/** The reasons that all collectors share. */
export function offReason(target: CollectorTarget, name: CollectorName, api: Api): string | undefined {
  if (!target.settings[name].enabled) return 'switched off in the configuration';
  if (api === 'message' && !target.hasMessageApi) return 'the account has no message API configured';
  if (api === 'management' && !target.hasManagementApi) return 'the account has no management API configured';
  return undefined;
}

/** The reason of a collector that reads what is configured by name. */
export function offWithout(names: readonly string[], what: string): string | undefined {
  return names.length === 0 ? `no ${what} configured` : undefined;
}

/** The API that `off` has vouched for. */
export function apiOf<A extends Api>(client: ServiceClient, api: A): NonNullable<ServiceClient[A]> {
  const found = client[api];
  if (found === undefined) throw new Error(`the client has no ${api} API: this collector should be off`);
  return found;
}
