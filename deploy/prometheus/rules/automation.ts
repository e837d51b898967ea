/** Alerts about what the daemon does by itself: policies, their acts, who is told, and who tells it. */
import { duration, percent, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.automation;

export const automationAlerts: AlertGroup = {
  name: 'opsd-automation',
  rules: [
    {
      alert: 'OpsdCriticalCondition',
      expr: `last_over_time(opsd_notices_standing{severity="critical"}[${GAUGE_RANGE}]) > 0`,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      summary: '{{ $labels.instance }}: {{ $value | humanize }} critical conditions active (limit 0)',
      description:
        'For example, the service acted on more than was requested, or policies run in audit mode. The status page names the conditions.',
    },
    {
      alert: 'OpsdEnginePaused',
      expr: `last_over_time(opsd_paused{scope="engine"}[${GAUGE_RANGE}]) == 1`,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.instance }}: all policies are paused',
      description:
        'An operator, the kill switch, or the daemon paused the engine. Nothing is repaired, and no budget is raised.',
    },
    {
      alert: 'OpsdPausedLong',
      expr: `last_over_time(opsd_paused[${GAUGE_RANGE}]) == 1`,
      for: '12h',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.instance }}: {{ $labels.scope }} paused for over 12 h',
      description: 'A pause ends only when an operator ends it. Paused policies repair nothing.',
    },
    {
      alert: 'OpsdPolicyHeld',
      // It is there only while something holds, and never withheld. A pause has alerts of its own.
      expr: `time() - opsd_policy_held_since_timestamp_seconds{guard!="kill_switch"} > ${T.heldSeconds}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      summary: `{{ $labels.account }}: policy {{ $labels.policy }} held by {{ $labels.guard }} for {{ $value | humanizeDuration }} (limit ${duration(T.heldSeconds)})`,
      description: 'The policy does nothing while the guard holds it. Entries that it would repair may expire.',
    },
    {
      alert: 'OpsdPolicyFailing',
      // The second part, of value 0: a run was due an hour ago, and none has ended since. A new process does not know of an earlier end,
      // and with another configuration the run may not be due.
      expr: promql`
        sum by (job, instance, account, policy) (
          increase(opsd_policy_runs_total{outcome="error"}[30m])
          or
          increase(opsd_policy_evaluation_errors_total[1h])
        ) > 0
        or
        0 * (
          last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h) < time() - ${T.notRunSeconds}
          unless on (job, instance, account, policy) (
            last_over_time(opsd_policy_last_run_timestamp_seconds[1h])
              >= last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h)
          )
          and on (job, instance) last_over_time(process_start_time_seconds[${GAUGE_RANGE}]) <= time() - 3600
          unless on (job, instance) changes(opsd_config_hash[90m]) > 0
        )
      `,
      severity: 'warning',
      area: 'automation',
      summary:
        '{{ $labels.account }}: policy {{ $labels.policy }} failed {{ $value | humanize }} times or did not run (limit 0)',
      description:
        'A run ended with an error, an expression failed on entries, or a due run did not start. The policy did less than it should, and never more.',
    },
    {
      alert: 'OpsdGroupHalted',
      // There only while a campaign goes on, and never withheld.
      expr: 'opsd_breaker_state == 2',
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.account }}: policy {{ $labels.policy }} halted {{ $labels.group }}',
      description:
        'Too many resumed entries of the group failed again. Nothing more is sent until a canary succeeds, or an operator lifts the halt.',
    },
    {
      alert: 'OpsdActionsNotHelping',
      expr: promql`
        sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"failed_again|unverified|rejected"}[6h]))
          / sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"verified|failed_again|unverified|rejected"}[6h]))
          > ${T.unhelpfulRatio}
        and
        sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"verified|failed_again|unverified|rejected"}[6h]))
          >= ${T.minOutcomes}
      `,
      for: '10m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: policy {{ $labels.policy }}: {{ $value | humanizePercentage }} of actions failed (limit ${percent(T.unhelpfulRatio)})`,
      description:
        'Within 6 hours these actions were rejected, or their entries failed again or are still listed. They cost money and attempts.',
    },
    {
      alert: 'OpsdUnknownOutcomes',
      expr: `last_over_time(opsd_unknown_outcomes[${GAUGE_RANGE}]) > 0`,
      for: '30m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.instance }}: {{ $value | humanize }} actions with unknown outcome (limit 0)',
      description:
        'Their responses were lost, and later readings did not resolve them. Nothing is sent twice; these entries are blocked.',
    },
    {
      alert: 'OpsdApprovalWaiting',
      // The time is absent when no plan waits; the number is not.
      expr: promql`
        time() - (
          last_over_time(opsd_oldest_approval_timestamp_seconds[${GAUGE_RANGE}])
          and last_over_time(opsd_approvals_pending[${GAUGE_RANGE}]) > 0
        ) > ${T.approvalSeconds}
      `,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: plan of {{ $labels.policy }} pending for {{ $value | humanizeDuration }} (limit ${duration(T.approvalSeconds)})`,
      description: 'Nothing of the plan is done until an operator approves it. Then it expires.',
    },
    {
      alert: 'OpsdNotificationsFailing',
      expr: promql`
        increase(opsd_notification_failures_total[15m]) >= ${T.minFailedNotifications}
        and
        increase(opsd_notification_failures_total[15m])
          > ${T.failedNotificationsRatio} * increase(opsd_notification_requests_total[15m])
        or
        sum without (reason) (increase(opsd_notifications_dropped_total[1h])) > 0
      `,
      for: '5m',
      severity: 'warning',
      area: 'automation',
      summary: `{{ $labels.receiver }}: {{ $value | humanize }} notifications failed or dropped (limit ${percent(T.failedNotificationsRatio)}, 0)`,
      description:
        'The receiver misses holds, halts, and pending plans. The daemon retries notifications for a day, then drops them.',
    },
    {
      alert: 'OpsdCallbacksRejected',
      // A wrong method is a stranger, and a repeat was taken before.
      expr: promql`
        sum without (reason) (increase(opsd_callbacks_rejected_total{reason!~"method|replay"}[15m])) > ${T.rejectedCallbacks}
      `,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} callbacks rejected in 15 min (limit ${T.rejectedCallbacks})`,
      description: 'The daemon does not know these dead letters. Policies that need failure callbacks do not run.',
    },
    {
      alert: 'OpsdAlertHookRefusing',
      // A wrong method is a stranger.
      expr: promql`
        sum without (code) (increase(opsd_hook_requests_total{hook="alertmanager", code!~"2..|405"}[15m])) > 0
        or
        increase(opsd_alerts_dropped_total[15m]) > 0
      `,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.instance }}: {{ $value | humanize }} alert requests rejected in 15 min (limit 0)',
      description: 'The daemon rejected notifications of Alertmanager. Policies with an alert trigger do not run.',
    },
    {
      alert: 'OpsdTwoActors',
      // As they are now: the last values of a daemon that is gone would make two of one that moved.
      expr: promql`
        count by (job, account) (
          group by (job, instance, account) (
            opsd_policy_mode_info{effective_mode=~"approve|enforce"} and on (job, instance) opsd_leader == 1
          )
        ) > 1
      `,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.account }}: {{ $value | humanize }} daemons act on the account (limit 1)',
      description:
        'Each daemon has its own store and keeps its own limits. Together they may do a multiple of what is allowed.',
    },
  ],
};
