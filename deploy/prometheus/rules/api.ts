/** Alerts about the API of the service, as the daemon experiences it. */
import { latest, percent, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, THRESHOLDS } from '../thresholds.ts';

const { throttledRatio, quotaRatio } = THRESHOLDS.api;

export const apiAlerts: AlertGroup = {
  name: 'msgsvc-api',
  rules: [
    {
      alert: 'MsgsvcApiUnavailable',
      // A daemon that has used up its daily requests sends none; OpsdCollectorStale then reports the stale sources.
      expr: promql`
        ${latest('msgsvc_up', 'account, api', { how: 'min' })} == 0
        unless
        max by (account, api) (max_over_time(opsd_api_quota_used_requests[${GAUGE_RANGE}]))
          >= ${latest('opsd_api_quota_requests', 'account, api')}`,
      for: '5m',
      severity: 'critical',
      area: 'api',
      summary: '{{ $labels.account }}: {{ $labels.api }} API unavailable for over 5 min',
      description:
        'No request succeeded with valid credentials. The state of the account is unknown, and its policies are held. Check the credentials and the network first.',
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
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of {{ $labels.api }} requests get 429 (limit ${percent(throttledRatio)})`,
      description:
        'The daemon or another client has reached a request limit of the account. Readings are late. Find the operations that get 429.',
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
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of daily {{ $labels.api }} requests used (limit ${percent(quotaRatio)})`,
      description:
        'The limit is client.requestsPerDay. At 100 % the daemon reads nothing until midnight UTC. Raise the limit, or lengthen the intervals.',
    },
  ],
};
