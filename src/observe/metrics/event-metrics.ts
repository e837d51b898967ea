/** Counters and last values from what the daemon says of itself. Children that belong together are made together, at 0. */
import type { Clock } from '#foundation/platform/clock.ts';
import { HOOK_REFUSALS, NOTIFICATION_LOSSES, type EventBus, type OpsEvent } from '#foundation/events/events.ts';
import type { ApiHealth } from './api-health.ts';
import type { Families } from './families.ts';
import type { SpanRef } from './series.ts';

/** Outcomes that say of a request how it ended; the others say later what became of it. */
const FIRST_OUTCOMES = new Set(['acked', 'rejected', 'unknown']);
const LATER_OUTCOMES = ['verified', 'came_back', 'unverified', 'resolved_done', 'resolved_not_done', 'undecidable'];

export interface EventMetricsDeps {
  readonly events: EventBus;
  readonly clock: Clock;
  readonly families: Families;
  readonly health: ApiHealth;
  /** The span that an event was said inside of; undefined when there is none, or none that is sampled. */
  readonly currentSpan: () => SpanRef | undefined;
}

export function countEvents({ events, clock, families, health, currentSpan }: EventMetricsDeps): Disposable {
  function onRequest(event: Extract<OpsEvent, { type: 'api.request' }>): void {
    const { account, api, operation, code, failure, durationMs, bytes } = event;
    for (const outcome of ['200', 'error']) {
      families.add('opsd_api_requests_total', { account, api, operation, code: outcome }, 0);
    }
    families.add('opsd_api_request_retries_total', { account, api, operation }, 0);
    families.add('opsd_api_requests_total', { account, api, operation, code: String(code) });
    families.add('opsd_api_response_bytes_total', { account, api, operation }, bytes);
    const labels = { account, api, operation };
    families.observe('opsd_api_request_duration_seconds', labels, durationMs / 1_000, currentSpan());
    if (failure === undefined) {
      families.set('opsd_api_last_success_timestamp_seconds', { account, api }, clock.now() / 1_000);
    }
    health.heard(event);
  }

  function onPolicyRun(event: Extract<OpsEvent, { type: 'policy.run' }>): void {
    const { account, policy, outcome, stopped, drainMs } = event;
    families.add('opsd_policy_runs_total', { account, policy, outcome });
    families.set('opsd_policy_last_run_timestamp_seconds', { account, policy }, event.at / 1_000);
    families.set('opsd_policy_matched_items', { account, policy }, event.matched);
    families.set('opsd_policy_backlog_items', { account, policy }, event.backlog);
    if (drainMs === undefined) families.remove('opsd_policy_drain_seconds', { account, policy });
    else families.set('opsd_policy_drain_seconds', { account, policy }, drainMs / 1_000);
    families.add('opsd_policy_evaluation_errors_total', { account, policy }, event.evaluationErrors);
    for (const { guard, count } of event.denials) {
      families.add('opsd_policy_guard_denials_total', { account, policy, guard }, count);
    }
    if (stopped !== undefined) {
      families.add('opsd_policy_guard_denials_total', { account, policy, guard: stopped.guard });
    }
  }

  function onAction(event: Extract<OpsEvent, { type: 'action.outcome' }>): void {
    const { account, policy, action, outcome } = event;
    for (const known of [...FIRST_OUTCOMES, ...LATER_OUTCOMES]) {
      families.add('opsd_action_outcomes_total', { account, policy, action, outcome: known }, 0);
    }
    families.add('opsd_action_outcomes_total', { account, policy, action, outcome });
    if (!FIRST_OUTCOMES.has(outcome)) return;
    families.add('opsd_action_items_total', { account, policy, action }, itemsOf(event));
    // An act of an earlier process that is found without an outcome has no duration.
    if (event.durationMs === 0) return;
    families.observe('opsd_action_duration_seconds', { account, action }, event.durationMs / 1_000);
  }

  function onHook({ hook, name, code, refused }: Extract<OpsEvent, { type: 'hook.answered' }>): void {
    families.add('opsd_hook_requests_total', { hook, code: String(code) });
    if (hook !== 'callbacks' || name === undefined) return;
    for (const reason of HOOK_REFUSALS) families.add('opsd_callbacks_rejected_total', { account: name, reason }, 0);
    if (refused !== undefined) families.add('opsd_callbacks_rejected_total', { account: name, reason: refused });
  }

  function onNotification(receiver: string, isFailed: boolean): void {
    families.add('opsd_notification_requests_total', { receiver });
    families.add('opsd_notification_failures_total', { receiver }, isFailed ? 1 : 0);
  }

  return events.subscribe((event) => {
    switch (event.type) {
      case 'api.request':
        onRequest(event);
        return;
      case 'api.retry': {
        const { account, api, operation } = event;
        families.add('opsd_api_request_retries_total', { account, api, operation });
        return;
      }
      case 'api.throttled': {
        const { account, api, waitMs } = event;
        families.add('opsd_api_throttled_requests_total', { account, api });
        families.add('opsd_api_throttle_wait_seconds_total', { account, api }, waitMs / 1_000);
        return;
      }
      case 'api.rate_limit': {
        const { account, api, window, remaining } = event;
        families.set('opsd_api_rate_limit_remaining_requests', { account, api, window }, remaining);
        return;
      }
      case 'api.rows_dropped': {
        const { account, operation, count } = event;
        families.add('opsd_api_dropped_rows_total', { account, operation }, count);
        return;
      }
      case 'collector.finished': {
        const { account, collector, failure } = event;
        families.add('opsd_collector_runs_total', { account, collector });
        if (failure !== undefined) {
          families.add('opsd_collector_failures_total', { account, collector, reason: failure.reason });
        }
        return;
      }
      case 'collector.skipped': {
        const { account, collector, reason } = event;
        families.add('opsd_collector_skipped_total', { account, collector, reason });
        return;
      }
      case 'schedule.rearmed':
        families.add('opsd_schedule_rearms_total', {});
        return;
      case 'credential.read': {
        const { account, credential, writtenAt } = event;
        families.set('opsd_credential_rotated_timestamp_seconds', { account, credential }, writtenAt / 1_000);
        return;
      }
      case 'spans.exported':
        if (event.lagMs !== undefined) families.observe('opsd_spans_export_lag_seconds', {}, event.lagMs / 1_000);
        return;
      case 'spans.waiting':
        families.set('opsd_spans_waiting', {}, event.spans);
        if (event.oldestAt === undefined) families.remove('opsd_spans_oldest_waiting_timestamp_seconds', {});
        else families.set('opsd_spans_oldest_waiting_timestamp_seconds', {}, event.oldestAt / 1_000);
        return;
      case 'deliveries.failing':
        families.add('opsd_delivery_events_write_failures_total', {});
        return;
      case 'policy.run':
        onPolicyRun(event);
        return;
      case 'action.outcome':
        onAction(event);
        return;
      case 'hook.answered':
        onHook(event);
        return;
      case 'alerts.received': {
        const { receiver, firing, resolved, dropped } = event;
        families.add('opsd_alerts_received_total', { receiver, status: 'firing' }, firing);
        families.add('opsd_alerts_received_total', { receiver, status: 'resolved' }, resolved);
        families.add('opsd_alerts_dropped_total', { receiver }, dropped);
        return;
      }
      case 'callback.received': {
        const { account, kind, codeClass } = event;
        families.add('opsd_callbacks_received_total', { account, kind, code_class: codeClass });
        return;
      }
      case 'policy.triggered': {
        const { account, policy, trigger } = event;
        families.add('opsd_policy_triggers_total', { account, policy, trigger: trigger.kind });
        return;
      }
      case 'notices.standing':
        for (const [severity, count] of Object.entries(event.bySeverity)) {
          families.set('opsd_notices_standing', { severity }, count);
        }
        return;
      case 'notification.sent':
      case 'notification.failed':
        onNotification(event.receiver, event.type === 'notification.failed');
        return;
      case 'notifications.waiting': {
        const { receiver, count } = event;
        for (const reason of NOTIFICATION_LOSSES) {
          families.add('opsd_notifications_dropped_total', { receiver, reason }, 0);
        }
        families.set('opsd_notifications_waiting', { receiver }, count);
        return;
      }
      case 'notification.dropped': {
        const { receiver, reason, count } = event;
        families.add('opsd_notifications_dropped_total', { receiver, reason }, count);
        return;
      }
      case 'store.failed':
        families.add('opsd_state_save_failures_total', {});
        return;
      case 'backup.failed':
        families.add('opsd_backup_failures_total', {});
        return;
      case 'notice':
      case 'archive.failed':
      // Counted in the store: see kept-counts.ts.
      case 'spans.dropped':
      case 'deliveries.written':
      case 'deliveries.dropped':
      case 'statistics.checked':
      case 'alert.unassigned':
      case 'campaign.changed':
      case 'engine.recovered':
      case 'engine.paused':
      case 'engine.unpaused':
      case 'series.refused':
      case 'log.set_back':
      case 'telemetry.variable_ignored':
      case 'config.reloaded':
      case 'config.reload_failed':
      case 'web_config.changed':
    }
  });
}

/** What the service said; where its answer was lost, all that was asked for may have been done. */
function itemsOf({ outcome, worth, done = worth }: Extract<OpsEvent, { type: 'action.outcome' }>): number {
  if (outcome === 'unknown') return worth;
  return outcome === 'acked' ? done : 0;
}
