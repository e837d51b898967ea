/** Alerts about the interface of the service, as the daemon meets it. */
import { latest, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, THRESHOLDS } from '../thresholds.ts';

const { throttledRatio, limiterWaitSeconds, quotaRatio } = THRESHOLDS.api;

export const apiAlerts: AlertGroup = {
  name: 'msgsvc-api',
  rules: [
    {
      alert: 'MsgsvcApiUnavailable',
      // The worst, not the best: a series of before a restart must not hide what the new one says. Where the daemon has used
      // up its requests of the day it asks nothing, and OpsdCollectorStale says what is not known.
      expr: promql`
        min by (account, api) (last_over_time(msgsvc_up[${GAUGE_RANGE}])) == 0
        unless
        max by (account, api) (max_over_time(opsd_api_quota_used_requests[${GAUGE_RANGE}]))
          >= ${latest('opsd_api_quota_requests', 'account, api')}`,
      for: '5m',
      severity: 'critical',
      area: 'api',
      summary: 'The {{ $labels.api }} API of {{ $labels.account }} gives no good answer.',
      description:
        'No good answer, or no valid credentials, for 5 minutes. Nothing new is known of the account, and its policies hold.',
    },
    {
      alert: 'MsgsvcApiThrottled',
      expr: promql`
        sum by (account, api) (rate(opsd_api_requests_total{code="429"}[15m]))
        /
        sum by (account, api) (rate(opsd_api_requests_total[15m]))
        > ${throttledRatio}`,
      for: '10m',
      severity: 'warning',
      area: 'api',
      summary: 'The {{ $labels.api }} API of {{ $labels.account }} refuses requests of the daemon with 429.',
      description:
        '{{ $value | humanizePercentage }} of the requests within 15 minutes were refused: a limit of the account is reached, by the daemon or by somebody else. What is read comes late.',
    },
    {
      alert: 'OpsdApiLimiterWaits',
      expr: promql`sum by (account, api) (rate(opsd_api_throttle_wait_seconds_total[15m])) > ${limiterWaitSeconds}`,
      for: '15m',
      severity: 'info',
      area: 'api',
      summary: "Requests to the {{ $labels.api }} API of {{ $labels.account }} wait in the daemon's own limiter.",
      description:
        'They wait {{ $value | humanizeDuration }} in each second. client.requestsPerSecond is too low for what is read, or the daemon catches up after an outage.',
    },
    {
      alert: 'OpsdApiQuotaNear',
      expr: promql`
        ${latest('opsd_api_quota_used_requests', 'account, api')}
        /
        ${latest('opsd_api_quota_requests', 'account, api')}
        > ${quotaRatio}`,
      for: '5m',
      severity: 'warning',
      area: 'api',
      summary:
        'The daemon has used most of its requests of today to the {{ $labels.api }} API of {{ $labels.account }}.',
      description:
        '{{ $value | humanizePercentage }} of client.requestsPerDay are used. At 100 % nothing more is read until midnight UTC.',
    },
  ],
};
