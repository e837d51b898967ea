/** Counters and last values from the daemon's events. Children of one event are created together, with the value 0. */
import { policyLabel } from '#foundation/domain/manual-plan.ts';
import {
  HOOK_REFUSALS,
  NOTIFICATION_LOSSES,
  type EventBus,
  type EventOf,
  type OpsEvent,
} from '#foundation/events/events.ts';
import type { PartDeps } from './daemon-parts.ts';
import type { Families } from './families.ts';
import { seconds } from './values.ts';

/** First outcomes of a request. The later ones report what happened afterwards. */
const FIRST_OUTCOMES = new Set(['accepted', 'rejected', 'unknown']);
const LATER_OUTCOMES = [
  'delivered',
  'verified',
  'failed_again',
  'unverified',
  'confirmed_applied',
  'confirmed_not_applied',
  'unresolvable',
];

type CountDeps = Pick<PartDeps, 'clock' | 'families' | 'health' | 'currentSpan'>;

type CountOf<T extends OpsEvent['type']> = (event: EventOf<T>, deps: CountDeps) => void;

export function countEvents(events: EventBus, deps: CountDeps): Disposable {
  return events.subscribe((event) => {
    const count = COUNTS[event.type] as CountOf<typeof event.type> | undefined;
    count?.(event, deps);
  });
}

/** Functions that update the metrics of an event. The store has the counters of others, see kept-counts.ts. */
const COUNTS: { readonly [T in OpsEvent['type']]?: CountOf<T> } = {
  'api.request': countRequest,
  'api.retry': ({ account, api, operation }, { families }) =>
    families.add('opsd_api_request_retries_total', { account, api, operation }),
  'api.throttled': ({ account, api, waitMs }, { families }) => {
    families.add('opsd_api_throttled_requests_total', { account, api });
    families.add('opsd_api_throttle_wait_seconds_total', { account, api }, waitMs / 1_000);
  },
  'api.rate_limit': ({ account, api, window, remaining }, { families }) =>
    families.set('opsd_api_rate_limit_remaining_requests', { account, api, window }, remaining),
  'api.invalid_rows': ({ account, operation, count, values }, { families }) => {
    families.add('opsd_api_invalid_rows_total', { account, operation }, count);
    families.add('opsd_invalid_values_total', { source: 'responses' }, values);
  },
  'credential.read': ({ account, credential, writtenAt }, { families }) =>
    families.set('opsd_credential_rotated_timestamp_seconds', { account, credential }, writtenAt / 1_000),

  'collector.finished': ({ account, collector, failure }, { families }) => {
    families.add('opsd_collector_runs_total', { account, collector });
    if (failure === undefined) return;
    families.add('opsd_collector_failures_total', { account, collector, reason: failure.reason });
  },
  'collector.skipped': ({ account, collector, reason }, { families }) =>
    families.add('opsd_collector_runs_skipped_total', { account, collector, reason }),

  'spans.exported': ({ lagMs }, { families }) => {
    if (lagMs !== undefined) families.observe('opsd_spans_export_lag_seconds', {}, lagMs / 1_000);
  },
  'spans.queued': ({ spans, oldestAt }, { families }) => {
    families.set('opsd_spans_queued', {}, spans);
    families.setOrRemove('opsd_spans_oldest_queued_timestamp_seconds', {}, seconds(oldestAt));
  },
  'deliveries.failing': (_event, { families }) => families.add('opsd_delivery_events_write_failures_total', {}),

  'policy.triggered': ({ account, policy, trigger }, { families }) =>
    families.add('opsd_policy_triggers_total', { account, policy, trigger: trigger.kind }),
  'policy.run': countRun,
  'action.outcome': countAction,

  'hook.answered': countHook,
  'alerts.received': ({ receiver, firing, resolved, dropped }, { families }) => {
    families.add('opsd_alerts_received_total', { receiver, status: 'firing' }, firing);
    families.add('opsd_alerts_received_total', { receiver, status: 'resolved' }, resolved);
    families.add('opsd_alerts_dropped_total', { receiver }, dropped);
  },
  'callback.received': ({ account, kind, codeClass }, { families }) =>
    families.add('opsd_callbacks_received_total', { account, kind, code_class: codeClass }),
  'body.received': ({ account, lack: reason }, { families }) => {
    if (reason !== undefined) families.add('opsd_dead_letter_bodies_not_kept_total', { account, reason });
  },
  'bodies.dropped': ({ account, reason, count }, { families }) =>
    families.add('opsd_dead_letter_bodies_dropped_total', { account, reason }, count),

  'canary.phase': ({ account, canary, phase, durationMs }, { families }) =>
    families.observe('msgsvc_canary_phase_seconds', { account, canary, phase }, durationMs / 1_000),
  'canary.round_trip': ({ account, canary, durationMs }, { families }) =>
    families.observe('msgsvc_canary_round_trip_seconds', { account, canary }, durationMs / 1_000),
  'canary.message': ({ account, canary, outcome }, { families }) =>
    families.add('msgsvc_canary_messages_total', { account, canary, outcome }),

  'conditions.active': ({ bySeverity }, { families }) => {
    for (const [severity, count] of Object.entries(bySeverity)) {
      families.set('opsd_active_conditions', { severity }, count);
    }
  },
  'notification.sent': (event, deps) => countNotification(event, 0, deps),
  'notification.failed': (event, deps) => countNotification(event, 1, deps),
  'notification.dropped': ({ receiver, reason, count }, { families }) =>
    families.add('opsd_notifications_dropped_total', { receiver, reason }, count),
  'notifications.queued': ({ receiver, count }, { families }) => {
    for (const reason of NOTIFICATION_LOSSES) {
      families.add('opsd_notifications_dropped_total', { receiver, reason }, 0);
    }
    families.set('opsd_notifications_queued', { receiver }, count);
  },

  'schedule.rearmed': (_event, { families }) => families.add('opsd_schedule_rearms_total', {}),
  'store.failed': (_event, { families }) => families.add('opsd_state_save_failures_total', {}),
  'backup.failed': (_event, { families }) => families.add('opsd_backup_failures_total', {}),
};

function countRequest(event: EventOf<'api.request'>, { families, clock, health, currentSpan }: CountDeps): void {
  const { account, api, operation, code, failure, durationMs, bytes } = event;
  const labels = { account, api, operation };
  for (const outcome of ['200', 'error']) families.add('opsd_api_requests_total', { ...labels, code: outcome }, 0);
  families.add('opsd_api_request_retries_total', labels, 0);
  families.add('opsd_api_requests_total', { ...labels, code: String(code) });
  families.add('opsd_api_response_bytes_total', labels, bytes);
  families.observe('opsd_api_request_duration_seconds', labels, durationMs / 1_000, currentSpan?.());
  if (failure === undefined) {
    families.set('opsd_api_last_success_timestamp_seconds', { account, api }, clock.now() / 1_000);
  }
  health.heard(event);
}

function countRun(event: EventOf<'policy.run'>, { families }: CountDeps): void {
  const { account, outcome, stopped } = event;
  const policy = policyLabel(event.policy);
  families.add('opsd_policy_runs_total', { account, policy, outcome });
  families.set('opsd_policy_last_run_timestamp_seconds', { account, policy }, event.at / 1_000);
  // The values of one manual plan would look like those of all.
  if (policy === event.policy) setLeft(event, families);
  families.add('opsd_policy_evaluation_errors_total', { account, policy }, event.evaluationErrors);
  for (const { guard, count } of event.denials) {
    families.add('opsd_policy_guard_denials_total', { account, policy, guard }, count);
  }
  if (stopped !== undefined) {
    families.add('opsd_policy_guard_denials_total', { account, policy, guard: stopped.guard });
  }
}

function setLeft({ account, policy, matched, backlog, drainMs }: EventOf<'policy.run'>, families: Families): void {
  // A run that was held before it read anything knows neither, which is not 0.
  families.setOrRemove('opsd_policy_matched_items', { account, policy }, matched);
  families.setOrRemove('opsd_policy_backlog_items', { account, policy }, backlog);
  families.setOrRemove('opsd_policy_drain_seconds', { account, policy }, drainMs && drainMs / 1_000);
}

function countAction(event: EventOf<'action.outcome'>, { families }: CountDeps): void {
  const { account, action, outcome } = event;
  const policy = policyLabel(event.policy);
  for (const known of [...FIRST_OUTCOMES, ...LATER_OUTCOMES]) {
    families.add('opsd_action_outcomes_total', { account, policy, action, outcome: known }, 0);
  }
  families.add('opsd_action_outcomes_total', { account, policy, action, outcome });
  if (!FIRST_OUTCOMES.has(outcome)) return;
  families.add('opsd_action_items_total', { account, policy, action }, itemsOf(event));
  // An action of an earlier process without an outcome has no duration.
  if (event.durationMs === 0) return;
  families.observe('opsd_action_duration_seconds', { account, action }, event.durationMs / 1_000);
}

/**
 * Returns the number of items that the service confirmed. If its response was lost, returns all requested items, since
 * they may be done.
 */
function itemsOf({ outcome, items, done = items }: EventOf<'action.outcome'>): number {
  if (outcome === 'unknown') return items;
  return outcome === 'accepted' ? done : 0;
}

function countHook({ hook, name, code, refused }: EventOf<'hook.answered'>, { families }: CountDeps): void {
  families.add('opsd_hook_requests_total', { hook, code: String(code) });
  if (hook !== 'callbacks' || name === undefined) return;
  for (const reason of HOOK_REFUSALS) families.add('opsd_callbacks_rejected_total', { account: name, reason }, 0);
  if (refused !== undefined) families.add('opsd_callbacks_rejected_total', { account: name, reason: refused });
}

function countNotification({ receiver }: { readonly receiver: string }, failures: number, deps: CountDeps): void {
  deps.families.add('opsd_notification_requests_total', { receiver });
  deps.families.add('opsd_notification_failures_total', { receiver }, failures);
}
