/** Alerts about what the daemon does by itself: policies, their acts, who is told, and who tells it. */
import { promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.automation;

export const automationAlerts: AlertGroup = {
  name: 'opsd-automation',
  rules: [
    {
      alert: 'OpsdCriticalCondition',
      expr: `last_over_time(opsd_notices_standing{severity="critical"}[${GAUGE_RANGE}]) > 0`,
      for: '1m',
      severity: 'critical',
      area: 'automation',
      summary: 'The daemon at {{ $labels.instance }} says that something critical stands.',
      description:
        'The service did other than it was asked, the books of a run do not balance, a group was given up, or policies run in audit since their files are bad. The status page says which.',
    },
    {
      alert: 'OpsdEnginePaused',
      expr: `last_over_time(opsd_paused{scope="engine"}[${GAUGE_RANGE}]) == 1`,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      summary: 'The automation at {{ $labels.instance }} is paused.',
      description:
        'No policy does anything: a person, the kill switch or the daemon itself paused the engine. Nothing is repaired, no budget is raised.',
    },
    {
      alert: 'OpsdPausedLong',
      expr: `last_over_time(opsd_paused[${GAUGE_RANGE}]) == 1`,
      for: '12h',
      severity: 'warning',
      area: 'automation',
      summary: 'A pause of {{ $labels.scope }} at {{ $labels.instance }} has lasted for half a day.',
      description:
        'A pause ends only when a person ends it, and this one may have been forgotten. What is paused repairs nothing.',
    },
    {
      alert: 'OpsdPolicyHeld',
      // It is there only while something holds, and never withheld. A pause has alerts of its own.
      expr: `time() - opsd_policy_held_since_timestamp_seconds{guard!="kill_switch"} > ${T.heldSeconds}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      summary: 'Policy {{ $labels.policy }} has been held by {{ $labels.guard }} for {{ $value | humanizeDuration }}.',
      description: 'It does nothing while the guard holds it. What it would repair stays broken, and may expire.',
    },
    {
      alert: 'OpsdPolicyErring',
      expr: 'increase(opsd_policy_runs_total{outcome="error"}[30m]) > 0',
      severity: 'warning',
      area: 'automation',
      summary: 'Runs of policy {{ $labels.policy }} end with an error.',
      description:
        'The ledger could not be written, the books of a run do not balance, or the run failed: it did less than it should, and never more.',
    },
    {
      alert: 'OpsdPolicyExpressionFailing',
      expr: 'increase(opsd_policy_evaluation_errors_total[1h]) > 0',
      severity: 'warning',
      area: 'automation',
      summary: 'The expression of policy {{ $labels.policy }} fails on entries.',
      description: 'Such entries are left out, and beyond 5 % of them the run aborts. What should be repaired is not.',
    },
    {
      alert: 'OpsdPolicyNotRunning',
      // A run was due an hour ago, and none has ended since. Its end is kept by the process, so a new one knows of none;
      // and with another configuration what was due may not be any more.
      expr: promql`
        last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h) < time() - ${T.notRunSeconds}
        unless on (job, instance, account, policy) (
          last_over_time(opsd_policy_last_run_timestamp_seconds[1h])
            >= last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h)
        )
        and on (job, instance) last_over_time(process_start_time_seconds[${GAUGE_RANGE}]) <= time() - 3600
        unless on (job, instance) changes(opsd_config_hash[90m]) > 0
      `,
      for: '5m',
      severity: 'warning',
      area: 'automation',
      summary: 'Policy {{ $labels.policy }} was due and did not run.',
      description: 'Its last run hangs, or the scheduler does not start it. Nothing is repaired by it.',
    },
    {
      alert: 'OpsdGroupHalted',
      // There only while a campaign goes on, and never withheld.
      expr: 'opsd_breaker_state == 2',
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      summary: 'Policy {{ $labels.policy }} has halted {{ $labels.group }}.',
      description:
        'Too much of what it resumed there failed again. Nothing more is sent until a canary succeeds, or a person lifts the halt.',
    },
    {
      alert: 'OpsdActionsNotHelping',
      expr: promql`
        sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"came_back|unverified|rejected"}[6h]))
          / sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"verified|came_back|unverified|rejected"}[6h]))
          > ${T.unhelpfulRatio}
        and
        sum without (outcome) (increase(opsd_action_outcomes_total{outcome=~"verified|came_back|unverified|rejected"}[6h]))
          >= ${T.minOutcomes}
      `,
      for: '10m',
      severity: 'warning',
      area: 'automation',
      summary: '{{ $value | humanizePercentage }} of the acts of policy {{ $labels.policy }} did not help.',
      description:
        'Within 6 hours they were refused, or what they were about came back or is there still. They cost money and attempts, and repair nothing.',
    },
    {
      alert: 'OpsdUnknownOutcomes',
      expr: `last_over_time(opsd_unknown_outcomes[${GAUGE_RANGE}]) > 0`,
      for: '30m',
      severity: 'warning',
      area: 'automation',
      summary: 'Of {{ $value }} acts of the daemon at {{ $labels.instance }} the outcome is not known.',
      description:
        'Their answers were lost, and reading has not resolved them for half an hour. Nothing is sent twice; these entries are blocked meanwhile.',
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
      summary: 'A plan of policy {{ $labels.policy }} has waited for approval for {{ $value | humanizeDuration }}.',
      description: 'Nothing of it is done until a person approves it; then it expires.',
    },
    {
      alert: 'OpsdNotificationsFailing',
      expr: promql`
        increase(opsd_notification_failures_total[15m]) >= ${T.minFailedNotifications}
        and
        increase(opsd_notification_failures_total[15m])
          > ${T.failedNotificationsRatio} * increase(opsd_notification_requests_total[15m])
      `,
      for: '5m',
      severity: 'warning',
      area: 'automation',
      summary: 'Receiver {{ $labels.receiver }} does not take notifications of the daemon.',
      description:
        'Holds, halts and plans that wait are told to nobody there. Notifications are tried again, and lost after a day.',
    },
    {
      alert: 'OpsdNotificationsDropped',
      expr: 'sum without (reason) (increase(opsd_notifications_dropped_total[1h])) > 0',
      severity: 'warning',
      area: 'automation',
      summary: 'Notifications to {{ $labels.receiver }} were lost.',
      description: 'What they told is told to nobody any more. The status page shows what still stands.',
    },
    {
      alert: 'OpsdCallbacksRejected',
      // A wrong method is a stranger, and a repeat was taken before.
      expr: promql`
        sum without (reason) (increase(opsd_callbacks_rejected_total{reason!~"method|replay"}[15m])) > ${T.rejectedCallbacks}
      `,
      severity: 'warning',
      area: 'automation',
      summary: 'Callbacks of {{ $labels.account }} are refused.',
      description:
        'Dead letters that they tell of are not known to the daemon, so that no policy can delete them, and policies that wait for failure callbacks do not run.',
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
      summary: 'The daemon at {{ $labels.instance }} does not take alerts that Alertmanager tells of.',
      description: 'Policies that wait for these alerts do not run.',
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
      summary: '{{ $value }} daemons act on {{ $labels.account }}.',
      description:
        'Each has a store of its own, and limits are kept by each alone: together they may do as many times as much as is allowed.',
    },
  ],
};
