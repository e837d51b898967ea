/** What others tell the daemon by its hooks, and what it tells people. */
import { counter, family, gauge } from './metric-spec.ts';

export const hooks = family(
  { heading: 'Hooks', account: false },
  {
    opsd_hook_requests_total: counter(
      ['hook', 'code'],
      'requests',
      'hooks',
      'Requests to the hooks by status of the answer: alertmanager, callbacks, or other where no hook is.',
    ),
    opsd_alerts_received_total: counter(
      ['receiver', 'status'],
      'items',
      'hooks',
      'Alerts that Alertmanager told of, repeats included, by name of the hook and status (firing, resolved).',
    ),
    opsd_alerts_dropped_total: counter(
      ['receiver'],
      'items',
      'hooks',
      'Alerts in notifications of Alertmanager that were not understood and left out.',
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
      'Callbacks of the service (callback, failure_callback), by class of the status that the destination answered with; none without an answer.',
    ),
    opsd_callbacks_rejected_total: counter(
      ['reason'],
      'requests',
      'hooks',
      'Callbacks not taken: method, unauthorized, signature, replay, malformed, too_large, busy, failed (they could not be stored).',
    ),
    opsd_policy_triggers_total: counter(
      ['policy', 'trigger'],
      'items',
      'hooks',
      'Runs of a policy that an alert or failure callbacks asked for, by what triggered it (alert, callback).',
    ),
  },
);

export const notifications = family(
  { heading: 'Notifications', account: false },
  {
    opsd_notices_standing: gauge(
      ['severity'],
      'items',
      'notifications',
      'Conditions that people are told of and that have not ended (info, warning, critical).',
    ),
    opsd_notification_requests_total: counter(
      ['receiver'],
      'requests',
      'notifications',
      'Requests to receivers of notifications: alertmanager, webhook, or webhook/OWNER.',
    ),
    opsd_notification_failures_total: counter(
      ['receiver'],
      'requests',
      'notifications',
      'Of these, those without a good answer; what waits is tried again.',
    ),
    opsd_notifications_waiting: gauge(
      ['receiver'],
      'items',
      'notifications',
      'Notifications that wait to be taken by a webhook.',
    ),
    opsd_notifications_dropped_total: counter(
      ['receiver', 'reason'],
      'items',
      'notifications',
      'Notifications that will not be delivered: full (too many wait), rejected (the receiver refuses it for good), too_old (a day), no_receiver (it is configured no more).',
    ),
  },
);
