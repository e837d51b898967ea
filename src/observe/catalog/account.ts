/** Metrics of an account: its URL groups and its statistics. */
import { counter, family, gauge } from './metric-spec.ts';

const mirrored = { mirrored: true } as const;

export const urlGroups = family(
  { heading: 'URL groups', account: true, collector: 'urlGroups' },
  {
    msgsvc_url_groups: gauge([], 'items', 'length', 'URL groups of the account.'),
    msgsvc_url_group_endpoints: gauge(['url_group'], 'items', 'endpoints.length', 'Endpoints of a URL group.'),
    msgsvc_url_group_created_timestamp_seconds: gauge(
      ['url_group'],
      'timestamp',
      'createdAt',
      'Creation of a URL group.',
      { merge: 'min' },
    ),
    msgsvc_url_group_updated_timestamp_seconds: gauge(
      ['url_group'],
      'timestamp',
      'updatedAt',
      'Last update of a URL group.',
      { merge: 'max' },
    ),
  },
);

export const accountStats = family(
  { heading: 'Account statistics', account: true, collector: 'accountStats' },
  {
    msgsvc_account_dlq_messages: gauge([], 'messages', 'dlq_message_count', 'Messages in the message DLQ.'),
    msgsvc_account_month_billing_dollars: gauge(
      [],
      'dollars',
      'total_monthly_billing',
      'Billing of the current month.',
    ),
    msgsvc_account_day_billing_dollars: gauge(
      [],
      'dollars',
      'daily_billings[today]',
      'Billing of the current UTC day.',
    ),
    msgsvc_account_day_bandwidth_bytes: gauge(
      [],
      'bytes',
      'daily_bandwidths[today]',
      'Bandwidth of the current UTC day.',
    ),
    msgsvc_account_day_requests: gauge([], 'requests', 'daily_requests[today].y', 'Requests of the current UTC day.'),
    msgsvc_account_day_workflow_messages: gauge(
      [],
      'messages',
      'daily_requests[today].workflow_message',
      'Workflow messages of the current UTC day.',
    ),
    msgsvc_account_day_workflow_runs: gauge(
      [],
      'runs',
      'daily_requests[today].workflow_run',
      'Workflow runs of the current UTC day.',
    ),
    msgsvc_account_month_billing_forecast_dollars: gauge(
      [],
      'dollars',
      'total_monthly_billing, daily_billings',
      'Billing to expect at the end of the month: what is billed so far, and the pace of the last whole days for what is left.',
    ),
    msgsvc_account_budget_exhaustion_timestamp_seconds: gauge(
      [],
      'timestamp',
      'derived',
      'When the known budget is used up at the present pace; absent when that is not this month.',
    ),
  },
);

export const accountLimits = family(
  { heading: 'Budget and limits of the account, as far as they are known', account: true },
  {
    msgsvc_account_budget_dollars: gauge(
      ['origin'],
      'dollars',
      'configuration: budget.knownUsd; ledger',
      'Known monthly budget, by where it is known from; +Inf when there is no limit.',
    ),
    msgsvc_account_budget_asserted_timestamp_seconds: gauge(
      ['origin'],
      'timestamp',
      'configuration: budget.assertedOn; ledger',
      'When the budget was last known to be so.',
    ),
    msgsvc_account_limit_dlq_messages: gauge([], 'messages', 'configuration: limits.dlqMessages', 'DLQ capacity.'),
    msgsvc_account_limit_dlq_retention_seconds: gauge(
      [],
      'seconds',
      'configuration: limits.dlqRetention',
      'DLQ retention.',
    ),
    msgsvc_account_limit_day_requests: gauge(
      ['kind'],
      'requests',
      'configuration: limits.requestsPerDay, limits.requestsPerDayHard',
      'Requests allowed a day, soft and hard.',
    ),
    msgsvc_account_limit_requests_per_second: gauge(
      [],
      'requests',
      'configuration: limits.requestsPerSecond',
      'Request rate limit.',
    ),
    msgsvc_account_limit_parallelism: gauge(
      ['scope'],
      'items',
      'configuration: limits.parallelism, limits.globalParallelism',
      'Deliveries at the same time, to one endpoint and to all.',
    ),
  },
);

export const accountTotals = family(
  { heading: 'Account, counted from its statistics', account: true },
  {
    msgsvc_account_used_messages_total: counter(
      [],
      'messages',
      'daily_used',
      'Messages used, accumulated from settled points.',
      mirrored,
    ),
    msgsvc_account_used_workflow_messages_total: counter(
      [],
      'messages',
      'daily_used_workflow',
      'Workflow messages used, accumulated from settled points.',
      mirrored,
    ),
    msgsvc_account_bandwidth_bytes_total: counter(
      [],
      'bytes',
      'daily_bandwidth_used',
      'Bandwidth, accumulated from settled points.',
      mirrored,
    ),
    msgsvc_account_messages_total: counter(
      ['series'],
      'messages',
      'daily_msgsvc_messages[].id',
      'Messages by the named series of the statistics, accumulated from settled points. Series overlap: do not add them up.',
      mirrored,
    ),
    msgsvc_account_workflow_messages_total: counter(
      ['series'],
      'messages',
      'daily_workflow_messages[].id',
      'Workflow messages by the named series of the statistics, accumulated from settled points. Series overlap: do not add them up.',
      mirrored,
    ),
    msgsvc_account_billing_dollars_total: counter(
      [],
      'dollars',
      'total_monthly_billing, daily_billings',
      'Billing, accumulated across days and months.',
      mirrored,
    ),
  },
);
