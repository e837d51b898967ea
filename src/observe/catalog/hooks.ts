/** Metrics of the hooks that the daemon receives and of the notifications that it sends. */
import { counter, family, gauge } from './metric-spec.ts';

export const hooks = family(
  { heading: 'Hooks', account: false },
  {
    opsd_hook_requests_total: counter(
      ['hook', 'code'],
      'requests',
      'hooks',
      'Requests to the hooks, by hook (alertmanager, callbacks, canary, or other for an unknown path) and response status.',
    ),
    opsd_alerts_received_total: counter(
      ['receiver', 'status'],
      'items',
      'hooks',
      'Alerts received from Alertmanager, including repeats, by hook name and status (firing, resolved).',
    ),
    opsd_alerts_dropped_total: counter(
      ['receiver'],
      'items',
      'hooks',
      'Invalid alerts that were dropped from Alertmanager notifications.',
    ),
  },
);

export const callbacks = family(
  { heading: 'Callbacks', account: true },
  {
    opsd_callbacks_received_total: counter(
      ['kind', 'code_class'],
      'items',
      'status, dlqId',
      "Callbacks received from the service, by kind and by status class of the destination's response; none if there was no response.",
    ),
    opsd_callbacks_rejected_total: counter(
      ['reason'],
      'requests',
      'hooks',
      'Callbacks rejected, by reason: method, unauthorized, signature, replay, malformed, too_large, busy, or failed (they could not be stored).',
    ),
    opsd_policy_triggers_total: counter(
      ['policy', 'trigger'],
      'items',
      'hooks',
      'Policy runs requested by triggers (alert, callback).',
    ),
  },
);

export const incidents = family(
  { heading: 'Incidents', account: true },
  {
    opsd_incidents: gauge(
      ['state'],
      'items',
      'incidents',
      'Incidents, by state: open, acknowledged, recovering, or resolved (kept for 30 days).',
    ),
  },
);

export const notifications = family(
  { heading: 'Notifications', account: false },
  {
    opsd_active_conditions: gauge(
      ['severity'],
      'items',
      'notifications',
      'Active conditions, by severity (info, warning, critical).',
    ),
    opsd_notification_requests_total: counter(
      ['receiver'],
      'requests',
      'notifications',
      'Requests to notification receivers: alertmanager, webhook, or webhook/OWNER.',
    ),
    opsd_notification_failures_total: counter(
      ['receiver'],
      'requests',
      'notifications',
      'Failed requests to notification receivers. Pending notifications are retried.',
    ),
    opsd_notifications_queued: gauge(['receiver'], 'items', 'notifications', 'Notifications pending for a webhook.'),
    opsd_notifications_dropped_total: counter(
      ['receiver', 'reason'],
      'items',
      'notifications',
      'Notifications dropped, by reason: full (too many are pending), rejected (by the receiver, permanently), too_old (one day), no_receiver (it is no longer configured).',
    ),
  },
);
