/** Metrics of policies, hooks, incidents, notifications and replicas. */
import { counter, family, flagMetric, gauge, histogram } from './metric-spec.ts';

export const policies = family({
  heading: 'Policies and actions',
  account: true,
  labels: ['policy'],
  source: 'engine',
}).of({
  opsd_policy_mode_info: gauge('Mode of a policy, always 1.', {
    labels: ['policy', 'owner', 'mode', 'effective_mode'],
    merge: 'max',
  }),
  opsd_policy_runs_total: counter('Runs of a policy, by outcome.', { labels: ['policy', 'outcome'], unit: 'items' }),
  opsd_policy_last_run_timestamp_seconds: gauge('Unix timestamp of the last finished run of a policy.'),
  opsd_policy_next_run_timestamp_seconds: gauge('Unix timestamp of the next scheduled run of a policy.', {
    source: 'scheduler',
  }),
  opsd_policy_matched_items: gauge(
    'Entries that select and where match in the last run of a policy: acted on, left, denied, or acted on without effect. Absent if unknown.',
  ),
  opsd_policy_backlog_items: gauge(
    'Matched entries that the last run of a policy left for later runs. Absent if unknown.',
  ),
  opsd_policy_drain_seconds: gauge(
    'Time until the backlog of the last run is drained at the limits of ramp and caps, in seconds. Absent if there is no backlog.',
  ),
  opsd_policy_guard_denials_total: counter('Entries denied and runs held or aborted by guards, by guard.', {
    labels: ['policy', 'guard'],
    source: 'guards',
  }),
  opsd_policy_held_since_timestamp_seconds: gauge(
    'Unix timestamp when a guard or an error began to hold the policy. Absent if the policy is not held.',
    { labels: ['policy', 'guard'], source: 'guards' },
  ),
  opsd_policy_evaluation_errors_total: counter('Entries whose evaluation failed.', { source: 'CEL' }),
  opsd_campaign_step_items: gauge('Maximum entries of the current step of a campaign.', {
    labels: ['policy', 'group'],
    source: 'ramp',
    merge: 'max',
  }),
  opsd_breaker_state: gauge('Breaker of a campaign: 0 closed, 1 half open (a canary decides), 2 open.', {
    labels: ['policy', 'group'],
    source: 'ramp',
    merge: 'max',
  }),
  opsd_deploy_timestamp_seconds: gauge(
    'Unix timestamp of a reported deploy: the last 20 of the account, not the roll-backs.',
    { labels: ['of', 'version'], source: 'hooks', merge: 'max' },
  ),
  opsd_pending_plans: gauge('Plans that are pending approval.', { source: 'plans' }),
  opsd_oldest_pending_plan_timestamp_seconds: gauge(
    'Unix timestamp of the oldest plan that is pending approval. Absent if there is none.',
    { source: 'plans', merge: 'min' },
  ),
  opsd_action_items_total: counter(
    'Items acted on, as reported by the service; if its response was lost, the number of requested items.',
    { labels: ['policy', 'action'] },
  ),
  opsd_action_outcomes_total: counter(
    'Outcomes of items acted on. An item may count first as accepted and later as verified.',
    { labels: ['policy', 'action', 'outcome'] },
  ),
  opsd_action_duration_seconds: histogram('Duration of actions, in seconds.', {
    labels: ['action'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  }),
});

export const hooks = family({ heading: 'Hooks', account: false, source: 'hooks' }).of({
  opsd_hook_requests_total: counter(
    'Requests to the hooks, by hook (alertmanager, callbacks, canary, or other for an unknown path) and response status.',
    { labels: ['hook', 'code'] },
  ),
  opsd_alerts_received_total: counter(
    'Alerts received from Alertmanager, including repeats, by hook name and status (firing, resolved).',
    { labels: ['receiver', 'status'] },
  ),
  opsd_alerts_dropped_total: counter('Invalid alerts that were dropped from Alertmanager notifications.', {
    labels: ['receiver'],
  }),
});

export const callbacks = family({ heading: 'Callbacks', account: true, source: 'hooks' }).of({
  opsd_callbacks_received_total: counter(
    "Callbacks received from the service, by kind and by status class of the destination's response; none if there was no response.",
    { labels: ['kind', 'code_class'], source: 'status, dlqId' },
  ),
  opsd_callbacks_rejected_total: counter(
    'Callbacks rejected, by reason: method, unauthorized, signature, replay, malformed, too_large, busy, or failed (they could not be stored).',
    { labels: ['reason'], unit: 'requests' },
  ),
  opsd_dead_letter_bodies_bytes: gauge(
    'Stored bytes of kept bodies of dead letters, with their headers. Absent if the account keeps none.',
    { source: 'ledger' },
  ),
  opsd_dead_letter_bodies_not_kept_total: counter(
    'Bodies of dead letters that were not kept, by reason: too_large, redacted (by the publisher), incomplete (callback), length (not the Content-Length), or key (the key file cannot be used).',
    { labels: ['reason'], unit: 'items' },
  ),
  opsd_dead_letter_bodies_dropped_total: counter(
    'Kept bodies that were dropped before their dead letters were deleted, by reason: expired, or total (newer ones needed the space).',
    { labels: ['reason'], source: 'ledger', unit: 'items' },
  ),
  opsd_policy_triggers_total: counter('Policy runs requested by triggers (alert, callback).', {
    labels: ['policy', 'trigger'],
  }),
});

export const incidents = family({ heading: 'Incidents', account: true, source: 'incidents' }).of({
  opsd_incidents: gauge('Incidents, by state: open, acknowledged, recovering, or resolved (kept for 30 days).', {
    labels: ['state'],
  }),
});

export const notifications = family({
  heading: 'Notifications',
  account: false,
  labels: ['receiver'],
  source: 'notifications',
}).of({
  opsd_active_conditions: gauge('Active conditions, by severity (info, warning, critical).', { labels: ['severity'] }),
  opsd_notification_requests_total: counter(
    'Requests to notification receivers: alertmanager, webhook, or webhook/OWNER.',
  ),
  opsd_notification_failures_total: counter(
    'Failed requests to notification receivers. Pending notifications are retried.',
    { unit: 'requests' },
  ),
  opsd_notifications_queued: gauge('Notifications pending for a webhook.'),
  opsd_notifications_dropped_total: counter(
    'Notifications dropped, by reason: full (too many are pending), rejected (by the receiver, permanently), too_old (one day), no_receiver (it is no longer configured).',
    { labels: ['receiver', 'reason'] },
  ),
});

export const replicas = family({ heading: 'Replicas', account: true, source: 'lease' }).of({
  opsd_lease_owner: flagMetric(
    '1 on the replica that owns the account, else 0. Every replica exports it for every account. Absent with SQLite.',
  ),
  opsd_lease_epoch: gauge('Epoch of the account, which each change of the owner increments. Absent with SQLite.'),
  opsd_lease_takeovers_total: counter('How often this replica took the account after another owner.'),
});
