/** Alerts about automation: policies, their actions, notifications, and the hooks that trigger policies. */
import { OTHER_OWNER, EPOCH, owned } from '../owner.ts';
import { duration, latest, latestOfStore, percent, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.automation;

const ofReceiver = (range: string): string => `sum by (job, receiver) (increase(${range}))`;

const outcomes = (which: string): string =>
  `sum by (job, account, policy, action) (increase(opsd_action_outcomes_total{outcome=~"${which}"}[6h]))`;

export const automationAlerts: AlertGroup = {
  name: 'opsd-automation',
  rules: [
    {
      alert: 'OpsdCriticalCondition',
      expr: `${latestOfStore('sum', 'opsd_active_conditions{severity="critical"}', 'job')} > 0`,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      summary: '{{ $labels.job }}: {{ $value | humanize }} critical conditions active (limit 0)',
      description:
        'For example, the service acted on more than was requested, or policies run in audit mode. Open the status page: it lists the conditions.',
    },
    {
      alert: 'OpsdEnginePaused',
      expr: `${latestOfStore('max', 'opsd_paused{scope="engine"}', 'job, scope')} == 1`,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.job }}: all policies are paused',
      description:
        'An operator, the kill switch, or the daemon paused the engine. No policy acts. The status page shows who paused it and why.',
    },
    {
      alert: 'OpsdPausedLong',
      expr: `${latestOfStore('max', 'opsd_paused', 'job, scope')} == 1`,
      for: '12h',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.job }}: {{ $labels.scope }} paused for over 12 h',
      description:
        'Paused policies repair nothing. Only an operator can end a pause. Find out who paused it and why, then run opsd unpause, which names a kill switch file.',
    },
    {
      alert: 'OpsdPolicyHeld',
      // The metric exists only while a guard holds the policy and is never withheld. Pauses have their own alerts.
      expr: `time() - min by (job, account, policy, guard) (${owned('opsd_policy_held_since_timestamp_seconds{guard!="kill_switch"}')}) > ${T.heldSeconds}`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      summary: `{{ $labels.account }}: policy {{ $labels.policy }} held by {{ $labels.guard }} for {{ $value | humanizeDuration }} (limit ${duration(T.heldSeconds)})`,
      description:
        'The policy does nothing while the guard holds it. Entries that it would repair may expire. Run opsd plan to see the reason.',
    },
    {
      alert: 'OpsdPolicyFailing',
      // The second part has the value 0: a run was due an hour ago, and none has ended since. A new process does not know
      // of earlier runs. After a change of the configuration or of the owner the run might not be due.
      expr: promql`
        sum by (job, account, policy) (
          increase(opsd_policy_runs_total{outcome="failed"}[30m])
          or
          increase(opsd_policy_evaluation_errors_total[1h])
        ) > 0
        or
        0 * max by (job, account, policy) (
          last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h) < time() - ${T.notRunSeconds}
          unless on (job, instance, account, policy) (
            last_over_time(opsd_policy_last_run_timestamp_seconds[1h])
              >= last_over_time(opsd_policy_next_run_timestamp_seconds[${GAUGE_RANGE}] offset 1h)
          )
          and on (job, instance) last_over_time(process_start_time_seconds[${GAUGE_RANGE}]) <= time() - 3600
          unless on (job, instance) changes(opsd_config_hash[90m]) > 0
          unless on (job, instance, account) ${OTHER_OWNER}
          unless on (job, account) changes(${EPOCH}[90m]) > 0
        )
      `,
      severity: 'warning',
      area: 'automation',
      summary:
        '{{ $labels.account }}: policy {{ $labels.policy }} failed {{ $value | humanize }} times or did not run (limit 0)',
      description:
        'A run ended with an error, an expression failed on entries, or a due run did not start. The policy did less than planned, and never more. Read the detail of its last runs.',
    },
    {
      alert: 'OpsdGroupHalted',
      // The metric exists only while a campaign is active and is never withheld.
      expr: `max by (job, account, policy, group) (${owned('opsd_breaker_state')}) == 2`,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.account }}: policy {{ $labels.policy }} halted {{ $labels.group }}',
      description:
        'Too many resumed runs of the group failed again. Nothing more is sent until a canary succeeds or an operator lifts the halt. Repair the destination first.',
    },
    {
      alert: 'OpsdActionsNotHelping',
      expr: promql`
        ${outcomes('failed_again|unverified|rejected')} / ${outcomes('verified|failed_again|unverified|rejected')}
          > ${T.unhelpfulRatio}
        and
        ${outcomes('verified|failed_again|unverified|rejected')} >= ${T.minOutcomes}
      `,
      for: '10m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: policy {{ $labels.policy }}: {{ $value | humanizePercentage }} of actions failed (limit ${percent(T.unhelpfulRatio)})`,
      description:
        'Within 6 hours these actions were rejected, or their entries failed again or are still listed. They cost money and attempts. Pause the policy if it does harm.',
    },
    {
      alert: 'OpsdUnknownOutcomes',
      expr: `${latestOfStore('sum', 'opsd_unknown_outcomes', 'job')} > 0`,
      for: '30m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.job }}: {{ $value | humanize }} actions with unknown outcome (limit 0)',
      description:
        'Their responses were lost, and later readings did not resolve them. Nothing is sent twice; these entries are blocked. Check that the workflow DLQ is read.',
    },
    {
      alert: 'OpsdApprovalPending',
      // The timestamp is absent without a pending plan; the number is not.
      expr: promql`
        time() - (
          ${latest('opsd_oldest_pending_plan_timestamp_seconds', 'job, account, policy', { how: 'min' })}
          and ${latest('opsd_pending_plans', 'job, account, policy')} > 0
        ) > ${T.approvalSeconds}
      `,
      for: '1m',
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: plan of {{ $labels.policy }} pending for {{ $value | humanizeDuration }} (limit ${duration(T.approvalSeconds)})`,
      description:
        'No action of the plan runs without approval, and the plan expires. Review it with opsd plan, then approve or reject it.',
    },
    {
      alert: 'OpsdNotificationsFailing',
      expr: promql`
        ${ofReceiver('opsd_notification_failures_total[15m]')} >= ${T.minFailedNotifications}
        and
        ${ofReceiver('opsd_notification_failures_total[15m]')}
          > ${T.failedNotificationsRatio} * ${ofReceiver('opsd_notification_requests_total[15m]')}
        or
        ${ofReceiver('opsd_notifications_dropped_total[1h]')} > 0
      `,
      for: '5m',
      severity: 'warning',
      area: 'automation',
      summary: `{{ $labels.receiver }}: {{ $value | humanize }} notifications failed or dropped (limit ${percent(T.failedNotificationsRatio)}, 0)`,
      description:
        'The receiver misses holds, halts, and pending plans. The daemon retries a notification for a day, then drops it. Read the reason in its log.',
    },
    {
      alert: 'OpsdCallbacksRejected',
      // A wrong method does not come from the service, and a repeated callback was accepted before.
      expr: promql`
        sum by (job, account) (increase(opsd_callbacks_rejected_total{reason!~"method|replay"}[15m])) > ${T.rejectedCallbacks}
      `,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanize }} callbacks rejected in 15 min (limit ${T.rejectedCallbacks})`,
      description:
        'The daemon does not learn of these dead letters, so policies on failure callbacks do not run. Check the token and the signing keys.',
    },
    {
      alert: 'OpsdBodiesNotKept',
      // A publisher redacts on purpose.
      expr: promql`
        sum by (job, account) (increase(opsd_dead_letter_bodies_not_kept_total{reason!="redacted"}[1h])) > 0
        or
        sum by (job, account) (increase(opsd_dead_letter_bodies_dropped_total{reason="total"}[1h])) > 0
      `,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.account }}: {{ $value | humanize }} bodies of dead letters not kept in 1 h (limit 0)',
      description:
        'The daemon lacks the bodies of these messages. The runbook has the repair of each reason; opsd doctor checks the key file.',
    },
    {
      alert: 'OpsdAlertHookRefusing',
      // A wrong method does not come from Alertmanager.
      expr: promql`
        sum without (code) (increase(opsd_hook_requests_total{hook="alertmanager", code!~"2..|405"}[15m])) > 0
        or
        increase(opsd_alerts_dropped_total[15m]) > 0
      `,
      severity: 'warning',
      area: 'automation',
      extended: true,
      summary: '{{ $labels.instance }}: {{ $value | humanize }} alert requests rejected in 15 min (limit 0)',
      description:
        'The daemon rejected notifications from Alertmanager. Policies with an alert trigger do not run. Compare the tokens of both sides.',
    },
    {
      alert: 'OpsdTwoActors',
      // Current values only: the last values of a stopped daemon would count a daemon that moved twice. Replicas share the
      // limits, and only the owner acts.
      expr: promql`
        count by (job, account) (
          group by (job, instance, account) (
            opsd_policy_mode_info{effective_mode=~"approve|enforce"} and on (job, instance, account) opsd_lease_owner == 1
            or
            opsd_policy_mode_info{effective_mode=~"approve|enforce"}
              and on (job, instance) opsd_leader == 1
              unless on (job, instance) opsd_lease_owner
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
        'Each daemon keeps its own limits, so together they can exceed every limit. Pause the daemon that should not run.',
    },
  ],
};
