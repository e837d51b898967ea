/**
 * What happened, said once. The logger and the exporters subscribe; nobody else needs to know them.
 * Ids may stand in events; they never become labels.
 */
import type { Notice, NoticeSeverity } from '../domain/notice.ts';
import type { CollectorName } from '../domain/observation.ts';
import type { Campaign } from '../domain/campaign.ts';
import type { RunOutcome, Trigger } from '../domain/plan.ts';
import type { ServiceErrorCode } from '../domain/service-error.ts';

export type Api = 'message' | 'management';

/** Why a hook did not take a request. */
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

/** Why a notification will not be delivered. */
export const NOTIFICATION_LOSSES = ['full', 'rejected', 'too_old', 'no_receiver'] as const;
type NotificationLoss = (typeof NOTIFICATION_LOSSES)[number];

export type OpsEvent =
  | {
      readonly type: 'api.request';
      readonly account: string;
      readonly api: Api;
      /** The operation's name, as in `opsd api`: `list-logs`. */
      readonly operation: string;
      /** HTTP status, or `error` when there was no answer. */
      readonly code: number | 'error';
      /** Absent when the answer was good. */
      readonly failure?: ServiceErrorCode;
      readonly method: string;
      /** Without its query, and without ids that may hold secrets. */
      readonly url: string;
      readonly durationMs: number;
      /** Bytes of the answer's body. */
      readonly bytes: number;
      /** Local clock minus the service's, milliseconds, the nearest to zero that it can be; absent without a Date. */
      readonly clockSkewMs?: number;
    }
  | {
      readonly type: 'api.retry';
      readonly account: string;
      readonly api: Api;
      readonly operation: string;
      readonly delayMs: number;
    }
  | { readonly type: 'api.throttled'; readonly account: string; readonly api: Api; readonly waitMs: number }
  | {
      readonly type: 'api.rate_limit';
      readonly account: string;
      readonly api: Api;
      readonly window: 'burst' | 'day';
      readonly remaining: number;
    }
  | {
      readonly type: 'api.rows_dropped';
      readonly account: string;
      readonly operation: string;
      readonly count: number;
      readonly example: string;
    }
  | {
      readonly type: 'collector.finished';
      readonly account: string;
      readonly collector: CollectorName;
      /** Epoch milliseconds. */
      readonly at: number;
      readonly durationMs: number;
      readonly failure?: { readonly reason: string; readonly message: string };
    }
  | {
      readonly type: 'collector.skipped';
      readonly account: string;
      readonly collector: CollectorName;
      readonly reason: 'overlap' | 'quota';
    }
  | {
      /** The watermark of the log was ahead of the local clock; the log is read again from `to`. Epoch milliseconds. */
      readonly type: 'log.set_back';
      readonly account: string;
      readonly from: number;
      readonly to: number;
    }
  /** An OTEL_* variable cannot be parsed. */
  | { readonly type: 'telemetry.variable_ignored'; readonly variable: string }
  | { readonly type: 'series.refused'; readonly family: string; readonly limit: number }
  | {
      readonly type: 'statistics.checked';
      readonly account: string;
      /** With what they were compared: today's element of the daily arrays, or the log of an hour. */
      readonly against: 'day' | 'log';
      /** Source of points, or state of the log. */
      readonly what: string;
      readonly statistics: number;
      readonly other: number;
      readonly isWrong: boolean;
    }
  | { readonly type: 'schedule.rearmed'; readonly name: string; readonly jumpMs: number }
  | {
      /** A credential from a file is used for the first time, or its file has other contents now. */
      readonly type: 'credential.read';
      readonly account: string;
      readonly credential: string;
      /** When its file was last written, epoch milliseconds. */
      readonly writtenAt: number;
      readonly isReplaced: boolean;
    }
  | {
      readonly type: 'spans.exported';
      readonly count: number;
      /** From when they were made until they were acknowledged; absent for those of the daemon itself. */
      readonly lagMs?: number;
    }
  | {
      readonly type: 'spans.dropped';
      readonly count: number;
      readonly reason: 'queue' | 'budget' | 'too_old' | 'unreadable' | 'rejected' | 'failed';
    }
  | { readonly type: 'spans.waiting'; readonly spans: number; /** Epoch milliseconds. */ readonly oldestAt?: number }
  | { readonly type: 'deliveries.written'; readonly count: number }
  | { readonly type: 'deliveries.dropped'; readonly count: number }
  | { readonly type: 'deliveries.failing'; /** An error code of the system. */ readonly reason: string }
  | {
      readonly type: 'policy.run';
      readonly policy: string;
      readonly account: string;
      /** Epoch milliseconds. */
      readonly at: number;
      readonly trigger: Trigger['kind'];
      /** Absent where no plan was made. */
      readonly planId?: string;
      readonly outcome: RunOutcome;
      readonly matched: number;
      readonly acted: number;
      readonly backlog: number;
      readonly denials: readonly { readonly guard: string; readonly count: number }[];
      readonly evaluationErrors: number;
      /** Milliseconds until the backlog is drained, by the ramp and the caps; absent where nothing matched. */
      readonly drainMs?: number;
      readonly stopped?: { readonly guard: string; readonly reason: string };
      readonly error?: string;
    }
  | {
      readonly type: 'action.outcome';
      readonly policy: string;
      readonly account: string;
      readonly action: string;
      /** A dlqId, or the page or amount that was acted on. */
      readonly target: string;
      /** The run that was acted on; absent when only its entry is known. */
      readonly workflowRunId?: string;
      readonly outcome: string;
      /** Entries that it was to act on: more than one for a page of a prune. */
      readonly worth: number;
      /** Entries that the service says it acted on. */
      readonly done?: number;
      readonly durationMs: number;
      readonly detail?: string;
    }
  /** An entry goes without its archive, as its policy allows. */
  | {
      readonly type: 'archive.failed';
      readonly policy: string;
      readonly account: string;
      readonly dlqId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'campaign.changed';
      readonly policy: string;
      readonly account: string;
      readonly group: string;
      readonly state: Campaign['state'];
      readonly step: number;
      readonly size: number;
      readonly reason?: string;
    }
  /** Something began or ceased to stand that a person should know of. Told once at either end. */
  | { readonly type: 'engine.paused'; readonly scope: string; readonly reason: string }
  | { readonly type: 'engine.unpaused'; readonly lifted: number; readonly reason: string }
  | { readonly type: 'engine.recovered'; readonly unknown: number }
  | {
      readonly type: 'hook.answered';
      /** `other`: no hook that is configured. */
      readonly hook: 'alertmanager' | 'callbacks' | 'other';
      /** Name of the receiver or account, where it is one of the configuration. */
      readonly name?: string;
      /** HTTP status. */
      readonly code: number;
      /** Absent when it was taken. */
      readonly refused?: HookRefusal;
    }
  | {
      readonly type: 'alerts.received';
      /** Name of the hook. */
      readonly receiver: string;
      readonly firing: number;
      readonly resolved: number;
      /** Not understood, and left out. */
      readonly dropped: number;
    }
  | {
      readonly type: 'callback.received';
      readonly account: string;
      readonly kind: 'callback' | 'failure_callback';
      /** Class of the status that the destination answered with: `2xx`, or `none` without an answer. */
      readonly codeClass: string;
    }
  /** An alert that policies wait for began to fire, and the account that it concerns is not known. */
  | { readonly type: 'alert.unassigned'; readonly receiver: string; readonly name: string }
  | { readonly type: 'policy.triggered'; readonly policy: string; readonly account: string; readonly trigger: Trigger }
  /** A condition that people are told of begins, goes on with other words, or ends. */
  | ({ readonly type: 'notice' } & Notice)
  | { readonly type: 'notices.standing'; readonly bySeverity: Readonly<Record<NoticeSeverity, number>> }
  | { readonly type: 'notification.sent'; readonly receiver: string }
  | {
      readonly type: 'notification.failed';
      /** `alertmanager`, `webhook`, or `webhook/OWNER`. */
      readonly receiver: string;
      /** A status, or an error code: never an address, which may hold a secret. */
      readonly reason: string;
    }
  | {
      readonly type: 'notification.dropped';
      readonly receiver: string;
      readonly reason: NotificationLoss;
      readonly count: number;
    }
  | { readonly type: 'notifications.waiting'; readonly receiver: string; readonly count: number }
  | {
      readonly type: 'config.reloaded';
      /** Who asked: `SIGHUP`, `the files changed`, or the name of a caller. */
      readonly by: string;
      readonly changed: boolean;
    }
  | {
      readonly type: 'config.reload_failed';
      readonly by: string;
      /** `opsd.yaml:4:5: accounts[0].tokne: unknown key`, one for each that is wrong. */
      readonly problems: readonly string[];
      /** Whether the policies run in audit until a good reload. */
      readonly auditOnly: boolean;
    }
  | {
      /** Another web configuration file, or another certificate, holds from now on. */
      readonly type: 'web_config.changed';
      readonly listener: string;
    }
  | { readonly type: 'store.failed'; readonly operation: string; readonly message: string }
  | { readonly type: 'backup.failed'; readonly message: string };

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
