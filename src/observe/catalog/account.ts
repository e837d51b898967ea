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
      'Unix timestamp of the creation of a URL group.',
      { merge: 'min' },
    ),
    msgsvc_url_group_updated_timestamp_seconds: gauge(
      ['url_group'],
      'timestamp',
      'updatedAt',
      'Unix timestamp of the last update of a URL group.',
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
      'Billing of the current month, in US dollars.',
    ),
    msgsvc_account_day_billing_dollars: gauge(
      [],
      'dollars',
      'daily_billings[today]',
      'Billing of the current UTC day, in US dollars.',
    ),
    msgsvc_account_day_bandwidth_bytes: gauge(
      [],
      'bytes',
      'daily_bandwidths[today]',
      'Bandwidth of the current UTC day, in bytes.',
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
      'Expected billing at the end of the month, in US dollars: the amount billed so far plus the pace of the last whole days for the rest.',
    ),
    msgsvc_account_budget_exhaustion_timestamp_seconds: gauge(
      [],
      'timestamp',
      'derived',
      'Unix timestamp when the known budget is exhausted at the current pace. Absent if that is not this month.',
    ),
  },
);

export const accountLimits = family(
  { heading: 'Known budget and limits of the account', account: true },
  {
    msgsvc_account_budget_dollars: gauge(
      ['origin'],
      'dollars',
      'configuration: budget.knownUsd; ledger',
      'Known monthly budget in US dollars, by origin of the value; +Inf if unlimited.',
    ),
    msgsvc_account_budget_asserted_timestamp_seconds: gauge(
      ['origin'],
      'timestamp',
      'configuration: budget.assertedOn; ledger',
      'Unix timestamp when the budget was last known to be valid.',
    ),
    msgsvc_account_limit_dlq_messages: gauge(
      [],
      'messages',
      'configuration: limits.dlqMessages',
      'Configured capacity of the message DLQ, in messages.',
    ),
    msgsvc_account_limit_dlq_retention_seconds: gauge(
      [],
      'seconds',
      'configuration: limits.dlqRetention',
      'Configured retention of the DLQs, in seconds.',
    ),
    msgsvc_account_limit_day_requests: gauge(
      ['kind'],
      'requests',
      'configuration: limits.requestsPerDay, limits.requestsPerDayHard',
      'Configured maximum of requests per UTC day, by kind (soft, hard).',
    ),
    msgsvc_account_limit_requests_per_second: gauge(
      [],
      'requests',
      'configuration: limits.requestsPerSecond',
      'Configured maximum of requests per second.',
    ),
    msgsvc_account_limit_parallelism: gauge(
      ['scope'],
      'items',
      'configuration: limits.parallelism, limits.globalParallelism',
      'Configured maximum of parallel deliveries, by scope (one endpoint, all endpoints).',
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
      'Messages used, summed from settled points of the statistics.',
      mirrored,
    ),
    msgsvc_account_used_workflow_messages_total: counter(
      [],
      'messages',
      'daily_used_workflow',
      'Workflow messages used, summed from settled points of the statistics.',
      mirrored,
    ),
    msgsvc_account_bandwidth_bytes_total: counter(
      [],
      'bytes',
      'daily_bandwidth_used',
      'Bandwidth in bytes, summed from settled points of the statistics.',
      mirrored,
    ),
    msgsvc_account_messages_total: counter(
      ['series'],
      'messages',
      'daily_msgsvc_messages[].id',
      'Messages by named series, summed from settled points of the statistics. Series overlap and must not be added.',
      mirrored,
    ),
    msgsvc_account_workflow_messages_total: counter(
      ['series'],
      'messages',
      'daily_workflow_messages[].id',
      'Workflow messages by named series, summed from settled points of the statistics. Series overlap and must not be added.',
      mirrored,
    ),
    msgsvc_account_billing_dollars_total: counter(
      [],
      'dollars',
      'total_monthly_billing, daily_billings',
      'Billing in US dollars, summed across days and months.',
      mirrored,
    ),
  },
);
