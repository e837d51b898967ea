/**
 * Events of the daemon, each emitted once. The logger and the exporters subscribe; the emitters do not know them. Ids
 * can be fields of events; they never become labels.
 */
import type { Campaign } from '../domain/campaign.ts';
import type { CanaryOutcome, CanaryPhase, CanaryVerdict } from '../domain/canary.ts';
import type { BodyLack } from '../domain/dead-letter.ts';
import type { Notification, NotificationSeverity } from '../domain/notification.ts';
import type { CollectorName } from '../domain/observation.ts';
import type { Denial, RunOutcome, Trigger } from '../domain/plan.ts';
import type { ServiceErrorCode } from '../domain/service-error.ts';

export type Api = 'message' | 'management';

/** Reasons why a hook rejected a request. */
export const HOOK_REFUSALS = [
  'method',
  'unauthorized',
  'signature',
  'replay',
  'malformed',
  'too_large',
  'busy',
  'failed',
] as const;
export type HookRefusal = (typeof HOOK_REFUSALS)[number];

/** Reasons why a notification is not delivered. */
export const NOTIFICATION_LOSSES = ['full', 'rejected', 'too_old', 'no_receiver'] as const;

interface OfAccount {
  readonly account: string;
}
interface OfApi extends OfAccount {
  readonly api: Api;
}
interface OfCollector extends OfAccount {
  readonly collector: CollectorName;
}
interface OfPolicy extends OfAccount {
  readonly policy: string;
}
interface OfCanary extends OfAccount {
  readonly canary: string;
}

/** Fields of each event. Durations and delays are milliseconds. */
interface Fields {
  // The service's client.
  'api.request': OfApi & {
    /** Name of the operation as in `opsd api`: `list-logs`. */
    readonly operation: string;
    /** HTTP status, or `error` if there was no response. */
    readonly code: number | 'error';
    /** Absent if the request succeeded. */
    readonly failure?: ServiceErrorCode;
    readonly method: string;
    /** URL without its query, and without ids that may contain secrets. */
    readonly url: string;
    readonly durationMs: number;
    /** Bytes of the response body. */
    readonly bytes: number;
    /** Smallest possible difference of the local clock from the service's clock; absent without a Date. */
    readonly clockSkewMs?: number;
  };
  'api.retry': OfApi & { readonly operation: string; readonly delayMs: number };
  'api.throttled': OfApi & { readonly waitMs: number };
  'api.rate_limit': OfApi & { readonly window: 'burst' | 'day'; readonly remaining: number };
  'api.invalid_rows': OfAccount & {
    readonly operation: string;
    readonly count: number;
    /** Number of these that are values outside of their range. */
    readonly values: number;
    readonly example: string;
  };
  /** A credential file was used for the first time, or its contents changed. */
  'credential.read': OfAccount & {
    readonly credential: string;
    /** Epoch milliseconds of the last write to the file. */
    readonly writtenAt: number;
    readonly isReplaced: boolean;
  };

  // The collectors and their checks.
  'collector.finished': OfCollector & {
    /** Epoch milliseconds. */
    readonly at: number;
    readonly durationMs: number;
    readonly failure?: { readonly reason: string; readonly message: string };
  };
  'collector.skipped': OfCollector & { readonly reason: 'overlap' | 'quota' };
  /** The watermark of the log was ahead of the local clock; the log is read again from `to`. Epoch milliseconds. */
  'log.set_back': OfAccount & { readonly from: number; readonly to: number };
  'statistics.checked': OfAccount & {
    /** Reference of the comparison: the current element of the daily arrays, or the log of an hour. */
    readonly against: 'day' | 'log';
    /** Source of points, or state of the log. */
    readonly what: string;
    readonly statistics: number;
    readonly other: number;
    readonly isWrong: boolean;
  };

  // The daemon's own output: series, spans, delivery events.
  /** An OTEL_* variable cannot be parsed or is not supported. */
  'telemetry.variable_ignored': { readonly variable: string };
  'series.refused': { readonly family: string; readonly limit: number };
  /** `lagMs`: time between creation and acknowledgment; absent for the daemon's own spans. */
  'spans.exported': { readonly count: number; readonly lagMs?: number };
  'spans.dropped': {
    readonly count: number;
    readonly reason: 'queue' | 'budget' | 'too_old' | 'unreadable' | 'rejected' | 'failed';
  };
  /** `oldestAt`: epoch milliseconds. */
  'spans.queued': { readonly spans: number; readonly oldestAt?: number };
  'deliveries.written': { readonly count: number };
  'deliveries.dropped': { readonly count: number };
  /** `reason`: error code of the system. */
  'deliveries.failing': { readonly reason: string };

  // The policies, their actions, and the engine.
  'policy.triggered': OfPolicy & { readonly trigger: Trigger };
  'policy.run': OfPolicy & {
    /** Epoch milliseconds. */
    readonly at: number;
    readonly trigger: Trigger['kind'];
    /** Id of the stored plan that it applies or that is pending; absent if there is none. */
    readonly planId?: string;
    readonly outcome: RunOutcome;
    readonly matched?: number;
    readonly acted: number;
    readonly backlog?: number;
    readonly denials: readonly { readonly guard: string; readonly count: number }[];
    readonly evaluationErrors: number;
    /** Time until the backlog is drained at the limits of ramp and caps; absent if nothing matched. */
    readonly drainMs?: number;
    readonly stopped?: Denial;
    readonly error?: string;
  };
  'action.outcome': OfPolicy & {
    readonly action: string;
    /** A dlqId, or the page or amount of the action. */
    readonly target: string;
    /** Run of the action; absent if only its entry is known. */
    readonly workflowRunId?: string;
    readonly outcome: string;
    /** Number of entries in the request: more than one for a prune page. */
    readonly items: number;
    /** Number of entries that the service acted on, according to its response. */
    readonly done?: number;
    readonly durationMs: number;
    readonly detail?: string;
  };
  /** An entry is deleted without an archive, as its policy allows. */
  'archive.failed': OfPolicy & { readonly dlqId: string; readonly reason: string };
  'campaign.changed': OfPolicy & Pick<Campaign, 'group' | 'state' | 'step' | 'size' | 'reason'>;
  'engine.paused': { readonly scope: string; readonly reason: string };
  'engine.unpaused': { readonly lifted: number; readonly reason: string };
  'engine.recovered': { readonly unknown: number };

  // The hooks that Alertmanager and the service's callbacks call.
  'hook.answered': {
    /** `other`: a hook that is not configured. */
    readonly hook: 'alertmanager' | 'callbacks' | 'canary' | 'deploy' | 'other';
    /** Name of the receiver, account, or canary (`ACCOUNT/NAME`); absent if it is not configured. */
    readonly name?: string;
    /** HTTP status. */
    readonly code: number;
    /** Absent if the request was accepted. */
    readonly refused?: HookRefusal;
  };
  /** `receiver`: name of the hook. `dropped`: number of invalid alerts. */
  'alerts.received': {
    readonly receiver: string;
    readonly firing: number;
    readonly resolved: number;
    readonly dropped: number;
  };
  'callback.received': OfAccount & {
    readonly kind: 'callback' | 'failure_callback';
    /** Class of the destination's response status: `2xx`, or `none` if there was no response. */
    readonly codeClass: string;
  };
  /** A failure callback arrived whose body is to be kept. `lack`: why it is not; `problem`: of the key. */
  'body.received': OfAccount & { readonly lack?: BodyLack; readonly problem?: string };
  /** Kept bodies were dropped: for newer ones, or because they ended. */
  'bodies.dropped': OfAccount & { readonly reason: 'total' | 'expired'; readonly count: number };
  'deploy.reported': OfAccount & { readonly version: string; readonly isRollback: boolean };
  /** An alert that triggers policies began to fire, and its account is unknown. */
  'alert.unassigned': { readonly receiver: string; readonly name: string };

  // Canaries.
  /**
   * A message reached a phase. Warm-up has no events of phases and round trips. The duration is from the publish request
   * for `accepted`, from `accepted` for `logged` and `arrived`, from `arrived` for the others.
   */
  'canary.phase': OfCanary & { readonly phase: CanaryPhase; readonly durationMs: number };
  /** A message arrived for the first time: time from the publish request to the arrival. */
  'canary.round_trip': OfCanary & { readonly durationMs: number };
  'canary.message': OfCanary & { readonly outcome: CanaryOutcome };
  /** A message has its verdict. */
  'canary.verdict': OfCanary & {
    readonly verdict: CanaryVerdict;
    /** Verdict before; absent for the first one. */
    readonly previous?: CanaryVerdict;
    readonly reason: string;
    /** Id of the round. */
    readonly round: string;
    readonly messageId?: string;
  };

  // Conditions and their notifications. A receiver is `alertmanager`, `webhook`, or `webhook/OWNER`.
  /** A condition becomes active, changes its texts, or is resolved. */
  notification: Notification;
  'conditions.active': { readonly bySeverity: Readonly<Record<NotificationSeverity, number>> };
  'notification.sent': { readonly receiver: string };
  /** `reason`: status or error code, never an address, because addresses may contain a secret. */
  'notification.failed': { readonly receiver: string; readonly reason: string };
  'notification.dropped': {
    readonly receiver: string;
    readonly reason: (typeof NOTIFICATION_LOSSES)[number];
    readonly count: number;
  };
  'notifications.queued': { readonly receiver: string; readonly count: number };

  // The daemon's process: its schedules, configuration and store.
  'schedule.rearmed': { readonly name: string; readonly jumpMs: number };
  /** `by`: cause of the reload: `SIGHUP`, `the files changed`, or the name of a caller. */
  'config.reloaded': { readonly by: string; readonly changed: boolean };
  'config.reload_failed': {
    readonly by: string;
    /** Problems such as `opsd.yaml:4:5: accounts[0].tokne: unknown key`. */
    readonly problems: readonly string[];
    /** True if the policies run in audit mode until a successful reload. */
    readonly auditOnly: boolean;
  };
  /** A web configuration file or its certificate changed and was applied. */
  'web_config.changed': { readonly listener: string };
  'store.failed': { readonly operation: string; readonly message: string };
  'backup.failed': { readonly message: string };
  /** `died`: the owner before stopped without a handover. */
  'lease.taken': OfAccount & { readonly epoch: number; readonly before: 'none' | 'handed_over' | 'died' };
  /** `unreachable`: the lease expired while the database did not respond. */
  'lease.ended': OfAccount & { readonly reason: 'handover' | 'lost' | 'unreachable' };
}

export type EventOf<T extends keyof Fields> = T extends keyof Fields ? { readonly type: T } & Fields[T] : never;

export type OpsEvent = EventOf<keyof Fields>;

export type EventListener = (event: OpsEvent) => void;

export class EventBus {
  readonly #listeners = new Set<EventListener>();

  emit(event: OpsEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  subscribe(listener: EventListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
