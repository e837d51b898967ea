/** Alerts about search and vector indexes. Limits come from the record of an index, usage from its statistics. */
import { latest, percent, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { pendingVectors, quotaRatio } = THRESHOLDS.search;

const INDEX = 'account, index';
const USED = 'account_index_quota:msgsvc_search_index_quota_used:ratio';

/** Usage and limit of each quota. */
const QUOTAS = {
  vectors: ['msgsvc_vector_index_vectors', 'msgsvc_search_index_limit_vectors'],
  day_queries: ['msgsvc_vector_index_day_queries', 'msgsvc_search_index_limit_day_queries'],
  day_updates: ['msgsvc_vector_index_day_updates', 'msgsvc_search_index_limit_day_updates'],
  month_reranks: ['msgsvc_vector_index_month_reranks', 'msgsvc_search_index_limit_month_reranks'],
  month_bandwidth: ['msgsvc_vector_index_month_bandwidth_bytes', 'msgsvc_search_index_limit_month_bandwidth_bytes'],
} as const;

export const searchRecording: RecordingGroup = {
  name: 'msgsvc-search-recording',
  rules: Object.entries(QUOTAS).map(([quota, [used, limit]]) => ({
    record: USED,
    // A missing limit is +Inf, so its ratio is 0.
    expr: promql`
      ${latest(used, INDEX)}
      /
      ${latest(limit, INDEX)}`,
    labels: { quota },
  })),
};

export const searchAlerts: AlertGroup = {
  name: 'msgsvc-search',
  rules: [
    {
      alert: 'MsgsvcVectorBacklog',
      expr: `${latest('msgsvc_vector_index_pending_vectors', INDEX)} >= ${pendingVectors}`,
      for: '30m',
      severity: 'warning',
      area: 'search',
      extended: true,
      summary: `{{ $labels.account }} {{ $labels.index }}: {{ $value | humanize }} vectors not indexed (limit ${pendingVectors})`,
      description:
        'Searches do not find these vectors yet. The index receives updates faster than it processes them. Check for a bulk load.',
    },
    {
      alert: 'MsgsvcIndexQuotaNear',
      expr: `${USED} >= ${quotaRatio}`,
      for: '15m',
      severity: 'warning',
      area: 'search',
      extended: true,
      summary: `{{ $labels.account }} {{ $labels.index }}: {{ $value | humanizePercentage }} of {{ $labels.quota }} used (limit ${percent(quotaRatio)})`,
      description: 'Above a quota the service may reject searches or updates. Upgrade the plan, or use less.',
    },
  ],
};
