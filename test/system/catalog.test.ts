/** The running demo and the catalog name the same metrics. */
import { expect, test } from 'vitest';
import { METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { clockedOpsd } from '../support/program.ts';
import { until } from '../support/until.ts';

/** Metrics of the catalog that the demo need not show, with the reason. */
const ABSENT: Readonly<Record<string, string>> = {
  msgsvc_log_events_by_dimension_total: 'collectors.logs.dimension is off unless it is set',
  msgsvc_messages_oldest_due_timestamp_seconds: 'only while a message is due',
  msgsvc_workflow_dlq_labeled_runs: 'telemetry.metrics.workflowDlqLabels is off unless it is set',
  msgsvc_workflow_dlq_flow_control_runs: 'only while a run in the DLQ has a flow-control key',
  msgsvc_account_budget_exhaustion_timestamp_seconds: 'only when the budget does not last for the month',
  opsd_api_invalid_rows_total: 'only when a response had invalid rows',
  opsd_api_rate_limit_remaining_requests: 'only when a response had rate-limit headers',
  opsd_tls_certificate_not_after_timestamp_seconds: 'the demo uses plain HTTP',
  opsd_config_last_reload_successful: 'the demo has no configuration file to reload',
  opsd_config_last_reload_success_timestamp_seconds: 'the demo has no configuration file to reload',
  opsd_campaign_step_items: 'only while a campaign runs',
  opsd_breaker_state: 'only while a campaign runs',
  opsd_credential_rotated_timestamp_seconds: 'the credentials of the demo are in no files',
  opsd_policy_held_since_timestamp_seconds: 'only while a guard holds a policy',
  opsd_policy_drain_seconds: 'only while a policy has a backlog',
  opsd_oldest_intent_timestamp_seconds: 'only while an action is not settled',
  opsd_oldest_pending_plan_timestamp_seconds: 'only while a plan waits for approval',
  opsd_policy_guard_denials_total: 'only when a guard denied an entry',
  opsd_alerts_received_total: 'no alert and no callback arrives',
  opsd_alerts_dropped_total: 'no alert and no callback arrives',
  opsd_callbacks_received_total: 'no alert and no callback arrives',
  opsd_callbacks_rejected_total: 'no alert and no callback arrives',
  opsd_dead_letter_bodies_bytes: 'deadLetters.bodies is off unless it is set',
  opsd_dead_letter_bodies_not_kept_total: 'deadLetters.bodies is off unless it is set',
  opsd_dead_letter_bodies_dropped_total: 'deadLetters.bodies is off unless it is set',
  opsd_policy_triggers_total: 'no alert and no callback arrives',
  opsd_deploy_timestamp_seconds: 'only after a deploy, which the tour reports',
  opsd_notification_requests_total: 'no receiver of notifications is configured',
  opsd_notification_failures_total: 'no receiver of notifications is configured',
  opsd_notifications_queued: 'no receiver of notifications is configured',
  opsd_notifications_dropped_total: 'no receiver of notifications is configured',
  opsd_spans_queued: 'no spans without a receiver for them',
  opsd_spans_oldest_queued_timestamp_seconds: 'no spans without a receiver for them',
  opsd_stats_points_day_ratio: 'only once a whole day is counted',
  opsd_stats_points_misread: 'only once a whole day is counted',
  opsd_reconciliation_ratio: 'only once a whole hour is counted',
  opsd_reconciliation_gap: 'only once a whole hour is counted',
  opsd_backup_interval_seconds: 'absent without scheduled backups',
  opsd_backup_last_success_timestamp_seconds: 'absent without scheduled backups',
  opsd_backup_size_bytes: 'absent without scheduled backups',
  opsd_lease_owner: 'only with PostgreSQL',
  opsd_lease_epoch: 'only with PostgreSQL',
  opsd_lease_takeovers_total: 'only with PostgreSQL',
  opsd_accounts_unowned: 'only with PostgreSQL',
  process_open_fds: 'absent where the system does not report it',
  process_max_fds: 'absent where the system does not report it',
};

/** Returns the names of metrics with samples, without the suffixes of histograms. */
function namesOf(text: string): ReadonlySet<string> {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(
    lines.map((line) => {
      const name = /^[^{ ]+/.exec(line)![0];
      const base = name.replace(/_(?:bucket|sum|count)$/, '');
      return types.get(base) === 'histogram' ? base : name;
    }),
  );
}

test('every metric of the demo is in the catalog, and every one of the catalog is in the demo or has a reason for its absence', async () => {
  const demo = clockedOpsd({ speed: 5, since: Date.now() }, ['demo', '--listen', '127.0.0.1:0', '--seed', '3']);
  const url = String((await demo.logged('daemon running'))['url']);
  const text = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
  const missing = async (): Promise<readonly string[]> => {
    const shown = namesOf(await text());
    return METRIC_NAMES.filter((name) => !shown.has(name) && ABSENT[name] === undefined && specOf(name).debug !== true);
  };
  let left: readonly string[] = [];
  await until({ what: 'all metrics are shown' }, async () => (left = await missing()).length === 0).catch(() =>
    expect(left).toEqual([]),
  );
  const whole = await text();
  const foreign = [...namesOf(whole)].filter((name) => !METRIC_NAMES.some((known) => known === name));
  expect(foreign).toEqual([]);
  for (const [, name, type] of whole.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    expect.soft(specOf(name as (typeof METRIC_NAMES)[number]).type, name).toBe(type);
  }
  expect(
    Object.keys(ABSENT).filter((name) => !METRIC_NAMES.some((known) => known === name)),
    'no longer there',
  ).toEqual([]);
  await demo.stop();
});
