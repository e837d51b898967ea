/** `opsd_*`, and the process under it: what the daemon does, and how it fares. */
import { callbacks, hooks, notifications } from './hooks.ts';
import { logForm, logReader } from './logs.ts';
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
      'Whether the last run of the collector succeeded, 1 or 0.',
    ),
    opsd_collector_duration_seconds: gauge(
      COLLECTOR,
      'seconds',
      'scheduler',
      'Duration of the last run of the collector.',
    ),
    opsd_collector_interval_seconds: gauge(COLLECTOR, 'seconds', 'scheduler', 'Configured interval of the collector.'),
    opsd_collector_last_success_timestamp_seconds: gauge(
      COLLECTOR,
      'timestamp',
      'scheduler',
      'Last successful run of the collector; data served for it is at least this old.',
    ),
    opsd_collector_stale: gauge(
      COLLECTOR,
      'flag',
      'scheduler',
      'Whether the data of the collector is older than its maximum staleness and is withheld, 1 or 0.',
    ),
    opsd_collector_runs_total: counter(COLLECTOR, 'items', 'scheduler', 'Runs of the collector.'),
    opsd_collector_failures_total: counter(
      ['collector', 'reason'],
      'items',
      'scheduler',
      'Failed runs of the collector, by bounded reason.',
    ),
    opsd_collector_skipped_total: counter(
      ['collector', 'reason'],
      'items',
      'scheduler',
      'Runs not started, by reason: overlap (the run before goes on), quota (no request is left today).',
    ),
    opsd_workflow_dlq_listing_complete: gauge(
      [],
      'flag',
      'cursor',
      'Whether the last listing of the workflow DLQ read every page, 1 or 0.',
    ),
  },
);

const api = family(
  { heading: 'Requests to the service', account: true },
  {
    opsd_api_last_success_timestamp_seconds: gauge(['api'], 'timestamp', 'client', 'Last good answer.'),
    opsd_api_requests_total: counter(
      ['api', 'operation', 'code'],
      'requests',
      'client',
      'Requests sent to the service; code is the status, or error when there was none.',
    ),
    opsd_api_request_duration_seconds: histogram(
      ['api', 'operation'],
      [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      'client',
      'Duration of requests to the service.',
    ),
    opsd_api_response_bytes_total: counter(['api', 'operation'], 'bytes', 'client', 'Bytes of answers read.', {
      debug: true,
    }),
    opsd_api_request_retries_total: counter(
      ['api', 'operation'],
      'requests',
      'client',
      'Requests repeated after a retryable failure.',
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
      'Time requests waited in the local rate limiter.',
    ),
    opsd_api_quota_requests: gauge(
      ['api'],
      'requests',
      'configuration',
      'Requests the daemon allows itself per UTC day.',
    ),
    opsd_api_quota_used_requests: gauge(
      ['api'],
      'requests',
      'client',
      'Requests of this UTC day, those before a restart included.',
    ),
    opsd_api_rate_limit_remaining_requests: gauge(
      ['api', 'window'],
      'requests',
      'response headers',
      'Remaining requests the service reported in response headers, if any.',
    ),
    opsd_api_dropped_rows_total: counter(
      ['operation'],
      'items',
      'client',
      'Rows and fields of answers that could not be parsed and were left out; one that is read again counts again.',
    ),
    opsd_credential_rotated_timestamp_seconds: gauge(
      ['credential'],
      'timestamp',
      'secret files',
      'When the file of a credential in use was last written: the credential is at least as old. From its first use on.',
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
    opsd_policy_runs_total: counter(['policy', 'outcome'], 'items', 'engine', 'Runs of a policy by outcome.'),
    opsd_policy_last_run_timestamp_seconds: gauge(['policy'], 'timestamp', 'engine', 'Last finished run.'),
    opsd_policy_next_run_timestamp_seconds: gauge(['policy'], 'timestamp', 'scheduler', 'Next due run.'),
    opsd_policy_matched_items: gauge(
      ['policy'],
      'items',
      'engine',
      'Items matched in the last run; as many as a prune may delete, until its pages tell.',
    ),
    opsd_policy_backlog_items: gauge(
      ['policy'],
      'items',
      'engine',
      'Items matched in the last run and left for later.',
    ),
    opsd_policy_drain_seconds: gauge(
      ['policy'],
      'seconds',
      'engine',
      'Time until the backlog of the last run is drained, by the ramp and the caps; absent when nothing waits.',
    ),
    opsd_policy_guard_denials_total: counter(
      ['policy', 'guard'],
      'items',
      'guards',
      'Items or runs stopped, by the name of the guard.',
    ),
    opsd_policy_held_since_timestamp_seconds: gauge(
      ['policy', 'guard'],
      'timestamp',
      'guards',
      'Since when a guard, or an error, holds the policy; absent once the hold ended.',
    ),
    opsd_policy_evaluation_errors_total: counter(['policy'], 'items', 'CEL', 'Entries on which the expression failed.'),
    opsd_campaign_step_items: gauge(
      ['policy', 'group'],
      'items',
      'ramp',
      'Most entries of the present step of a campaign.',
      { merge: 'max' },
    ),
    opsd_breaker_state: gauge(
      ['policy', 'group'],
      'items',
      'ramp',
      'Breaker of a campaign: 0 closed, 1 half open (a canary decides), 2 open.',
      { merge: 'max' },
    ),
    opsd_approvals_pending: gauge(['policy'], 'items', 'plans', 'Plans that wait for a person.'),
    opsd_oldest_approval_timestamp_seconds: gauge(
      ['policy'],
      'timestamp',
      'plans',
      'Since when the oldest plan waits for a person; absent when none does.',
      { merge: 'min' },
    ),
    opsd_action_items_total: counter(
      ['policy', 'action'],
      'items',
      'engine',
      'Items acted on, as the service said; where its answer was lost, as many as were asked for.',
    ),
    opsd_action_outcomes_total: counter(
      ['policy', 'action', 'outcome'],
      'items',
      'engine',
      'What became of items acted on; an item may be accepted first and verified later.',
    ),
    opsd_action_duration_seconds: histogram(
      ['action'],
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      'engine',
      'Duration of actions.',
    ),
  },
);

const daemon = family(
  { heading: 'The daemon', account: false },
  {
    opsd_unknown_outcomes: gauge([], 'items', 'ledger', 'Actions whose outcome is not known.'),
    opsd_oldest_intent_timestamp_seconds: gauge(
      [],
      'timestamp',
      'ledger',
      'When the oldest action was begun that is not settled; absent when all are.',
    ),
    opsd_cap_remaining: gauge(
      ['scope', 'window'],
      'items',
      'caps',
      'What a sliding window still allows: of the engine, its deletes and its spend, of an account, of a policy.',
    ),
    opsd_paused: gauge(['scope'], 'flag', 'kill switch, pauses', 'Whether the engine, or a policy, is paused, 1 or 0.'),
    opsd_leader: gauge([], 'flag', 'lease', 'Whether this process may act on the store, 1 or 0.'),
    opsd_audit_records_total: counter([], 'items', 'audit log', 'Records written to the audit log.', { debug: true }),
    opsd_audit_write_errors_total: counter(
      [],
      'items',
      'audit log',
      'Records that could not be written; what they tell of did not happen.',
    ),
    opsd_spans_exported_total: counter([], 'items', 'exporter', 'Spans acknowledged by the trace receiver.', mirrored),
    opsd_spans_dropped_total: counter(
      ['reason'],
      'items',
      'exporter',
      'Spans that will not be delivered: no room to keep them (queue), more than are allowed a second (budget), began too long ago (too_old), a time that makes no sense (unreadable), refused by the receiver (rejected); and those of the daemon itself that were not taken (failed).',
      mirrored,
    ),
    opsd_spans_export_lag_seconds: histogram(
      [],
      [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
      'exporter',
      'Time from when spans were made until the trace receiver acknowledged them; one observation a request.',
      { debug: true },
    ),
    opsd_spans_waiting: gauge([], 'items', 'outbox', 'Spans of deliveries that are kept until they are acknowledged.'),
    opsd_spans_oldest_waiting_timestamp_seconds: gauge(
      [],
      'timestamp',
      'outbox',
      'When the oldest of the spans that wait were made; absent when none wait.',
    ),
    opsd_delivery_events_written_total: counter(
      [],
      'items',
      'delivery log',
      'Lines about ended messages that were written for log pipelines (telemetry.deliveryEvents).',
      mirrored,
    ),
    opsd_delivery_events_dropped_total: counter(
      [],
      'items',
      'delivery log',
      'Lines about ended messages for which there was no room: too many waited to be written.',
      mirrored,
    ),
    opsd_delivery_events_write_failures_total: counter(
      [],
      'items',
      'delivery log',
      'Times that lines about ended messages could not be written, full pipes included; they wait.',
    ),
    opsd_log_messages_total: counter(['level'], 'items', 'logger', 'Log lines written, by level.'),
    opsd_schedule_rearms_total: counter(
      [],
      'items',
      'scheduler',
      'Times a schedule was set anew because the clock jumped.',
    ),
    opsd_state_last_save_timestamp_seconds: gauge(
      [],
      'timestamp',
      'store',
      'Last commit of counters and of how far reading has come.',
    ),
    opsd_state_save_failures_total: counter([], 'items', 'store', 'Failed writes of the state.'),
    opsd_state_restored: gauge([], 'flag', 'store', 'Whether this process started from saved state, 1 or 0.'),
    opsd_config_last_reload_successful: gauge(
      [],
      'flag',
      'configuration',
      'Whether the last loading of the configuration succeeded, 1 or 0; the first one counts.',
    ),
    opsd_config_last_reload_success_timestamp_seconds: gauge(
      [],
      'timestamp',
      'configuration',
      'When the configuration was last loaded with success, whether it had changed or not.',
    ),
    opsd_tls_certificate_not_after_timestamp_seconds: gauge(
      ['listener'],
      'timestamp',
      'web configuration',
      'When the certificate that a listener shows ends, or the first of those it comes with.',
    ),
    opsd_config_hash: gauge([], 'as served', 'configuration', 'First 48 bits of the hash of the loaded configuration.'),
    opsd_build_info: gauge(['version', 'revision', 'node_version'], 'info', 'build', 'Build of the daemon, always 1.'),
    opsd_series: gauge(
      [],
      'items',
      'registry',
      'Series exposed in the text format: OpenMetrics has a time of creation beside counters and histograms.',
    ),
    opsd_series_by_family: gauge(
      ['family'],
      'items',
      'registry',
      'Series exposed in the text format, by metric family.',
      {
        debug: true,
      },
    ),
    opsd_series_limit: gauge([], 'items', 'configuration', 'Series that may be exposed, over all metrics.'),
    opsd_series_refused_total: counter(
      [],
      'items',
      'registry',
      'Times that a new label set was not exposed, since there were as many series as may be.',
    ),
    opsd_label_values_folded_total: counter(
      ['label'],
      'items',
      'limiter',
      'Distinct label values folded into "other" by a cardinality limit, each counted once; at most 500,000.',
    ),
    opsd_refused_values_total: counter(
      ['source'],
      'items',
      'exporter',
      'Values that make no sense (not a number, negative counts, times outside 2015 to 2100) and were not exported, by where they came from; counted at each reading.',
    ),
    opsd_projection_failures_total: counter(
      ['source'],
      'items',
      'exporter',
      'Times that metrics of a source could not be made and were withheld.',
    ),
  },
);

export const daemonCatalog = {
  ...collectors,
  ...logReader,
  ...logForm,
  ...statsReader,
  ...statsPoints,
  ...api,
  ...policies,
  ...hooks,
  ...callbacks,
  ...notifications,
  ...daemon,
  ...storeFiles,
} as const;
