/** Metrics of the daemon's own work (`opsd_*`) and of its process. */
import { callbacks, hooks, incidents, notifications } from './hooks.ts';
import { entryMode, logReader } from './logs.ts';
import { statsPoints, statsReader } from './stats.ts';
import { storeFiles } from './store.ts';
import { counter, family, gauge, histogram } from './metric-spec.ts';

const COLLECTOR = ['collector'] as const;

const mirrored = { mirrored: true } as const;

const collectors = family(
  { heading: 'Collectors', account: true },
  {
    opsd_collector_success: gauge(
      COLLECTOR,
      'flag',
      'scheduler',
      '1 if the last run of the collector succeeded, else 0.',
    ),
    opsd_collector_duration_seconds: gauge(
      COLLECTOR,
      'seconds',
      'scheduler',
      'Duration of the last run of the collector, in seconds.',
    ),
    opsd_collector_interval_seconds: gauge(
      COLLECTOR,
      'seconds',
      'scheduler',
      'Configured interval of the collector, in seconds.',
    ),
    opsd_collector_last_success_timestamp_seconds: gauge(
      COLLECTOR,
      'timestamp',
      'scheduler',
      'Unix timestamp of the last successful run of the collector. Its exported data is at least this old.',
    ),
    opsd_collector_stale: gauge(
      COLLECTOR,
      'flag',
      'scheduler',
      '1 if the data of the collector is older than its maximum staleness and is withheld, else 0.',
    ),
    opsd_collector_runs_total: counter(COLLECTOR, 'items', 'scheduler', 'Runs of the collector.'),
    opsd_collector_failures_total: counter(
      ['collector', 'reason'],
      'items',
      'scheduler',
      'Failed runs of the collector, by reason.',
    ),
    opsd_collector_runs_skipped_total: counter(
      ['collector', 'reason'],
      'items',
      'scheduler',
      'Skipped runs of the collector, by reason: overlap (the previous run is not finished), quota (no request is left today).',
    ),
    opsd_workflow_dlq_listing_complete: gauge(
      [],
      'flag',
      'cursor',
      '1 if the last listing of the workflow DLQ read every page, else 0.',
    ),
  },
);

const api = family(
  { heading: 'Requests to the service', account: true },
  {
    opsd_api_last_success_timestamp_seconds: gauge(
      ['api'],
      'timestamp',
      'client',
      'Unix timestamp of the last successful response.',
    ),
    opsd_api_requests_total: counter(
      ['api', 'operation', 'code'],
      'requests',
      'client',
      'Requests sent to the service, by status code; error if there was no response.',
    ),
    opsd_api_request_duration_seconds: histogram(
      ['api', 'operation'],
      [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      'client',
      'Duration of requests to the service, in seconds.',
    ),
    opsd_api_response_bytes_total: counter(['api', 'operation'], 'bytes', 'client', 'Response bytes read.', {
      debug: true,
    }),
    opsd_api_request_retries_total: counter(
      ['api', 'operation'],
      'requests',
      'client',
      'Requests that were retried after a retryable failure.',
    ),
    opsd_api_throttled_requests_total: counter(
      ['api'],
      'requests',
      'client',
      'Requests delayed by the local rate limiter.',
    ),
    opsd_api_throttle_wait_seconds_total: counter(
      ['api'],
      'seconds',
      'client',
      'Time that requests waited in the local rate limiter, in seconds.',
    ),
    opsd_api_quota_requests: gauge(
      ['api'],
      'requests',
      'configuration',
      'Maximum requests that the daemon sends per UTC day.',
    ),
    opsd_api_quota_used_requests: gauge(
      ['api'],
      'requests',
      'client',
      'Requests sent in the current UTC day, including those before a restart.',
    ),
    opsd_api_rate_limit_remaining_requests: gauge(
      ['api', 'window'],
      'requests',
      'response headers',
      'Remaining requests reported in response headers, by window. Absent if the service sends no such headers.',
    ),
    opsd_api_invalid_rows_total: counter(
      ['operation'],
      'items',
      'client',
      'Invalid rows and fields that were dropped from responses. A row that is read again is counted again.',
    ),
    opsd_credential_rotated_timestamp_seconds: gauge(
      ['credential'],
      'timestamp',
      'secret files',
      'Unix timestamp of the last write to a credential file in use, which is the minimum age of the credential. Absent before its first use.',
    ),
  },
);

const policies = family(
  { heading: 'Policies and actions', account: true },
  {
    opsd_policy_mode_info: gauge(
      ['policy', 'owner', 'mode', 'effective_mode'],
      'info',
      'engine',
      'Mode of a policy, always 1.',
      { merge: 'max' },
    ),
    opsd_policy_runs_total: counter(['policy', 'outcome'], 'items', 'engine', 'Runs of a policy, by outcome.'),
    opsd_policy_last_run_timestamp_seconds: gauge(
      ['policy'],
      'timestamp',
      'engine',
      'Unix timestamp of the last finished run of a policy.',
    ),
    opsd_policy_next_run_timestamp_seconds: gauge(
      ['policy'],
      'timestamp',
      'scheduler',
      'Unix timestamp of the next scheduled run of a policy.',
    ),
    opsd_policy_matched_items: gauge(
      ['policy'],
      'items',
      'engine',
      'Entries that select and where match in the last run of a policy: acted on, left, denied, or acted on without effect. Absent if unknown.',
    ),
    opsd_policy_backlog_items: gauge(
      ['policy'],
      'items',
      'engine',
      'Matched entries that the last run of a policy left for later runs. Absent if unknown.',
    ),
    opsd_policy_drain_seconds: gauge(
      ['policy'],
      'seconds',
      'engine',
      'Time until the backlog of the last run is drained at the limits of ramp and caps, in seconds. Absent if there is no backlog.',
    ),
    opsd_policy_guard_denials_total: counter(
      ['policy', 'guard'],
      'items',
      'guards',
      'Entries denied and runs held or aborted by guards, by guard.',
    ),
    opsd_policy_held_since_timestamp_seconds: gauge(
      ['policy', 'guard'],
      'timestamp',
      'guards',
      'Unix timestamp when a guard or an error began to hold the policy. Absent if the policy is not held.',
    ),
    opsd_policy_evaluation_errors_total: counter(['policy'], 'items', 'CEL', 'Entries whose evaluation failed.'),
    opsd_campaign_step_items: gauge(
      ['policy', 'group'],
      'items',
      'ramp',
      'Maximum entries of the current step of a campaign.',
      { merge: 'max' },
    ),
    opsd_breaker_state: gauge(
      ['policy', 'group'],
      'items',
      'ramp',
      'Breaker of a campaign: 0 closed, 1 half open (a canary decides), 2 open.',
      { merge: 'max' },
    ),
    opsd_pending_plans: gauge(['policy'], 'items', 'plans', 'Plans that are pending approval.'),
    opsd_oldest_pending_plan_timestamp_seconds: gauge(
      ['policy'],
      'timestamp',
      'plans',
      'Unix timestamp of the oldest plan that is pending approval. Absent if there is none.',
      { merge: 'min' },
    ),
    opsd_action_items_total: counter(
      ['policy', 'action'],
      'items',
      'engine',
      'Items acted on, as reported by the service; if its response was lost, the number of requested items.',
    ),
    opsd_action_outcomes_total: counter(
      ['policy', 'action', 'outcome'],
      'items',
      'engine',
      'Outcomes of items acted on. An item may count first as accepted and later as verified.',
    ),
    opsd_action_duration_seconds: histogram(
      ['action'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      'engine',
      'Duration of actions, in seconds.',
    ),
  },
);

const replicas = family(
  { heading: 'Replicas', account: true },
  {
    opsd_lease_owner: gauge(
      [],
      'flag',
      'lease',
      '1 on the replica that owns the account, else 0. Every replica exports it for every account. Absent with SQLite.',
    ),
    opsd_lease_epoch: gauge(
      [],
      'items',
      'lease',
      'Epoch of the account, which each change of the owner increments. Absent with SQLite.',
    ),
    opsd_lease_takeovers_total: counter(
      [],
      'items',
      'lease',
      'How often this replica took the account after another owner.',
    ),
  },
);

const daemon = family(
  { heading: 'The daemon', account: false },
  {
    opsd_unknown_outcomes: gauge([], 'items', 'ledger', 'Actions whose outcome is unknown.'),
    opsd_oldest_intent_timestamp_seconds: gauge(
      [],
      'timestamp',
      'ledger',
      'Unix timestamp when the oldest unsettled action began. Absent if all actions are settled.',
    ),
    opsd_cap_remaining: gauge(
      ['scope', 'window'],
      'items',
      'caps',
      'Items or dollars that a sliding window still allows, by scope: engine, deletes, spend, account or policy.',
    ),
    opsd_paused: gauge(['scope'], 'flag', 'kill switch, pauses', '1 if the engine or a policy is paused, else 0.'),
    opsd_leader: gauge([], 'flag', 'store', '1 if this process holds the store, else 0.'),
    opsd_accounts_unowned: gauge(
      [],
      'items',
      'lease',
      'Accounts of the configuration without a live owner, as this replica sees it. Absent with SQLite, and while an owner is unknown.',
    ),
    opsd_audit_records_total: counter([], 'items', 'audit log', 'Records written to the audit log.', { debug: true }),
    opsd_audit_write_errors_total: counter(
      [],
      'items',
      'audit log',
      'Records that could not be written to the audit log. The changes they describe were not made.',
    ),
    opsd_spans_exported_total: counter([], 'items', 'exporter', 'Spans acknowledged by the trace receiver.', mirrored),
    opsd_spans_dropped_total: counter(
      ['reason'],
      'items',
      'exporter',
      'Spans that will not be delivered, by reason: queue (no space), budget (above the rate limit), too_old, unreadable (invalid time), rejected (by the receiver), or failed (a span of the daemon was not accepted).',
      mirrored,
    ),
    opsd_spans_export_lag_seconds: histogram(
      [],
      [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
      'exporter',
      'Time between the creation of spans and their acknowledgment by the trace receiver, in seconds; one observation per request.',
      { debug: true },
    ),
    opsd_spans_queued: gauge([], 'items', 'outbox', 'Delivery spans stored until the receiver acknowledges them.'),
    opsd_spans_oldest_queued_timestamp_seconds: gauge(
      [],
      'timestamp',
      'outbox',
      'Unix timestamp when the oldest unacknowledged spans were made. Absent if there are none.',
    ),
    opsd_delivery_events_written_total: counter(
      [],
      'items',
      'delivery log',
      'Delivery events written to the log (telemetry.deliveryEvents).',
      mirrored,
    ),
    opsd_delivery_events_dropped_total: counter(
      [],
      'items',
      'delivery log',
      'Delivery events dropped because too many were waiting to be written.',
      mirrored,
    ),
    opsd_delivery_events_write_failures_total: counter(
      [],
      'items',
      'delivery log',
      'Failed writes of delivery events, including writes to a full pipe. The events are retried.',
    ),
    opsd_log_messages_total: counter(['level'], 'items', 'logger', 'Log lines written, by level.'),
    opsd_schedule_rearms_total: counter(
      [],
      'items',
      'scheduler',
      'Schedules that were set again because the clock jumped.',
    ),
    opsd_state_last_save_timestamp_seconds: gauge(
      [],
      'timestamp',
      'store',
      'Unix timestamp of the last commit of counters and positions.',
    ),
    opsd_state_save_failures_total: counter([], 'items', 'store', 'Failed writes to the store.'),
    opsd_state_restored: gauge([], 'flag', 'store', '1 if this process started from stored state, else 0.'),
    opsd_config_last_reload_successful: gauge(
      [],
      'flag',
      'configuration',
      '1 if the last load of the configuration succeeded, else 0. The first load counts.',
    ),
    opsd_config_last_reload_success_timestamp_seconds: gauge(
      [],
      'timestamp',
      'configuration',
      'Unix timestamp of the last successful load of the configuration, changed or not.',
    ),
    opsd_tls_certificate_not_after_timestamp_seconds: gauge(
      ['listener'],
      'timestamp',
      'web configuration',
      'Unix timestamp of the earliest expiry in the certificate chain of a listener.',
    ),
    opsd_config_hash: gauge([], 'as served', 'configuration', 'First 48 bits of the hash of the loaded configuration.'),
    opsd_build_info: gauge(['version', 'revision', 'node_version'], 'info', 'build', 'Build of the daemon, always 1.'),
    opsd_series: gauge(
      [],
      'items',
      'registry',
      'Series exported in the text format. OpenMetrics adds a creation time to counters and histograms.',
    ),
    opsd_series_by_family: gauge(
      ['family'],
      'items',
      'registry',
      'Series exported in the text format, by metric family.',
      {
        debug: true,
      },
    ),
    opsd_series_limit: gauge([], 'items', 'configuration', 'Maximum series exported, over all metrics.'),
    opsd_series_dropped_total: counter(
      [],
      'items',
      'registry',
      'Rejections of a new label set because the series limit was reached.',
    ),
    opsd_label_values_overflowed_total: counter(
      ['label'],
      'items',
      'limiter',
      'Distinct label values counted under "other" because of a cardinality limit, each counted once; at most 500,000.',
    ),
    opsd_invalid_values_total: counter(
      ['source'],
      'items',
      'exporter',
      'Invalid values that were neither counted nor exported, by source: not a number, an impossible amount, a time outside 2015 to 2100. Each reading counts.',
    ),
    opsd_projection_failures_total: counter(
      ['source'],
      'items',
      'exporter',
      'Failed computations of the metrics of a source, which were withheld.',
    ),
  },
);

export const daemonCatalog = {
  ...collectors,
  ...logReader,
  ...entryMode,
  ...statsReader,
  ...statsPoints,
  ...api,
  ...policies,
  ...hooks,
  ...callbacks,
  ...incidents,
  ...notifications,
  ...replicas,
  ...daemon,
  ...storeFiles,
} as const;
