/**
 * Content of panels that are easily wrong, evaluated by the real promtool over a few series. No traffic is not 0 %,
 * withheld is not 0, no limit is not a full bar, and two daemons are not twice as much.
 */
import { always, of, testPanels } from '../support/panel-truth.ts';

const MAIL = 'destination="mail"';
/** Leases of two replicas: one owns shop, and none owns mail. */
const MAIL_UNOWNED = {
  [of('opsd_lease_owner')]: always(1),
  [of('opsd_lease_owner', '', { account: 'mail' })]: always(0),
  [of('opsd_lease_owner', '', { instance: 'b' })]: always(0),
  [of('opsd_lease_owner', '', { account: 'mail', instance: 'b' })]: always(0),
};
testPanels([
  {
    says: 'no attempts are no share of failures',
    panel: 'opsd-deliveries/Failed attempts, share',
    given: {
      [of('msgsvc_message_attempts_total', MAIL)]: always(7),
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="http",code="503"`)]: always(7),
    },
    shown: {},
  },
  {
    says: 'a destination without an attempt in the time shown has no quantile, which is no NaN',
    panel: 'opsd-deliveries/Destinations/E',
    given: { [of('msgsvc_message_queue_wait_seconds_bucket', `${MAIL},le="+Inf"`)]: always(3) },
    shown: {},
  },
  {
    says: 'a destination that is down fails wholly',
    panel: 'opsd-deliveries/Failed attempts by destination, share',
    given: {
      [of('msgsvc_message_attempts_total', MAIL)]: '0+6x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="http",code="503"`)]: '0+4x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="dns",code=""`)]: '0+2x60',
    },
    shown: { '{destination="mail"}': 1 },
  },
  {
    says: 'failures of which the counter has just appeared are no more than all attempts',
    panel: 'opsd-deliveries/Failed attempts by destination, share',
    given: {
      [of('msgsvc_message_attempts_total', MAIL)]: '0+6x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="http",code="503"`)]:
        `${'_ '.repeat(56)}0 0 300 300 300`,
    },
    shown: { '{destination="mail"}': 1 },
  },
  {
    says: 'a message that was cancelled did not fail, and did not end well either',
    panel: 'opsd-deliveries/Failed messages, share',
    given: {
      [of('msgsvc_messages_finished_total', MAIL)]: '0+600x60',
      [of('msgsvc_message_cancellations_total', MAIL)]: '0+360x60',
      [of('msgsvc_message_failures_total', `${MAIL},reason="http",code="503"`)]: '0+60x60',
    },
    shown: { '{}': 0.25 },
  },
  {
    says: 'the age of the oldest message is 0 while messages are in flight and none is due',
    panel: 'opsd-deliveries/Longest overdue message',
    given: { [of('msgsvc_messages_in_flight', MAIL)]: always(3) },
    shown: { '{}': 0 },
  },
  {
    says: 'it is not known while what is in flight is withheld',
    panel: 'opsd-deliveries/Longest overdue message',
    given: { [of('msgsvc_messages_created_total', MAIL)]: '0+3x60' },
    shown: {},
  },
  {
    says: 'it is that of the message that waits longest',
    panel: 'opsd-deliveries/Longest overdue message',
    given: {
      [of('msgsvc_messages_in_flight', MAIL)]: always(3),
      [of('msgsvc_messages_oldest_due_timestamp_seconds', MAIL)]: always(3_000),
      [of('msgsvc_messages_oldest_due_timestamp_seconds', 'destination="crm"')]: always(3_500),
    },
    shown: { '{}': 600 },
  },
  {
    says: 'a group that halted for less than a step of the drawing halted',
    panel: 'opsd-policies/Breakers',
    given: {
      [of('opsd_breaker_state', 'policy="resume",group="mail"')]: `${'_ '.repeat(57)}0 2 0 stale stale`,
    },
    shown: { '{policy="resume", group="mail"}': 2 },
  },
  {
    says: 'two daemons that watch one account see its messages in flight once',
    panel: 'opsd-deliveries/In flight by destination',
    given: {
      [of('msgsvc_messages_in_flight', MAIL)]: always(3),
      [of('msgsvc_messages_in_flight', MAIL, { instance: 'b' })]: always(3),
      [of('msgsvc_messages_in_flight', MAIL, { account: 'other' })]: always(4),
    },
    shown: { '{destination="mail"}': 7 },
  },
  {
    says: 'two daemons see the DLQ once',
    panel: 'opsd-dlq/Messages in the DLQ',
    given: {
      [of('msgsvc_account_dlq_messages')]: always(5),
      [of('msgsvc_account_dlq_messages', '', { instance: 'b' })]: always(5),
    },
    shown: { '{}': 5 },
  },
  {
    says: 'a DLQ without a known limit is not filled by any share',
    panel: 'opsd-dlq/DLQ used',
    given: { [of('msgsvc_account_dlq_messages')]: always(5) },
    shown: {},
  },
  {
    says: 'a DLQ that grows is full when the rest is used up',
    panel: 'opsd-dlq/DLQ full in',
    given: {
      [of('msgsvc_account_dlq_messages')]: '0+10x60',
      [of('msgsvc_account_limit_dlq_messages')]: always(1_200),
    },
    shown: { '{}': 3_600 },
  },
  {
    says: 'a DLQ that shrinks is full in a year or more',
    panel: 'opsd-dlq/DLQ full in',
    given: {
      [of('msgsvc_account_dlq_messages')]: '900-10x60',
      [of('msgsvc_account_limit_dlq_messages')]: always(1_200),
    },
    shown: { '{}': 31_536_000 },
  },
  ...['1', '1.0'].map((bound) => ({
    says: `the first attempt is found by its bound as ${bound}`,
    panel: 'opsd-dlq/Delivered at the first attempt',
    given: {
      [of('msgsvc_message_delivery_attempts_bucket', `le="${bound}"`)]: '0+3x60',
      [of('msgsvc_message_delivery_attempts_bucket', 'le="11"')]: '0+4x60',
      [of('msgsvc_message_delivery_attempts_count')]: '0+4x60',
    },
    shown: { '{}': 0.75 },
  })),
  {
    says: 'an empty workflow DLQ holds 0 runs',
    panel: 'opsd-workflows/Failed runs',
    given: { [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0) },
    shown: { '{}': 0 },
  },
  {
    says: 'one whose listing is withheld does not',
    panel: 'opsd-workflows/Failed runs',
    given: { [of('msgsvc_workflow_dlq_entered_runs_total', 'workflow="w",reason="http"')]: '0+1x60' },
    shown: {},
  },
  {
    says: 'nothing is said to expire, nor not to, where the retention is not known',
    panel: 'opsd-workflows/Expiring within 24 h',
    given: { [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0) },
    shown: {},
  },
  {
    says: 'nothing expires of an empty workflow DLQ',
    panel: 'opsd-workflows/Expiring within 24 h',
    given: {
      [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0),
      [of('msgsvc_account_limit_dlq_retention_seconds')]: always(604_800),
    },
    shown: { '{}': 0 },
  },
  {
    says: 'what expires within a day is not added to what expires within three',
    panel: 'opsd-workflows/Expiring within 72 h',
    given: {
      [of('msgsvc_workflow_dlq_expiring_runs', 'workflow="w",within="24h"')]: always(2),
      [of('msgsvc_workflow_dlq_expiring_runs', 'workflow="w",within="72h"')]: always(3),
    },
    shown: { '{}': 3 },
  },
  {
    says: 'a key without a limit has none in use, and one with a limit has its share',
    panel: 'opsd-flow-control/Parallelism in use',
    given: {
      [of('msgsvc_flow_control_parallelism_in_use', 'flow_control_key="free"')]: always(9),
      [of('msgsvc_flow_control_parallelism_in_use', 'flow_control_key="mail"')]: always(1),
      [of('msgsvc_flow_control_parallelism_limit', 'flow_control_key="mail"')]: always(4),
    },
    shown: { '{account="shop",flow_control_key="mail"}': 0.25 },
  },
  {
    says: 'a key is held for no more than all of the time',
    panel: 'opsd-flow-control/Most saturated key',
    given: {
      [of('msgsvc_flow_control_saturated_seconds_total', 'flow_control_key="mail",constraint="rate"')]:
        `${'_ '.repeat(56)}0 0 600 660 720`,
    },
    shown: { '{}': 1 },
  },
  {
    says: 'a paused key counts only while messages wait for it',
    panel: 'opsd-flow-control/Paused with messages waiting',
    given: {
      [of('msgsvc_flow_control_paused', 'flow_control_key="a"')]: always(1),
      [of('msgsvc_flow_control_waitlist_messages', 'flow_control_key="a"')]: always(0),
      [of('msgsvc_flow_control_paused', 'flow_control_key="b"')]: always(1),
      [of('msgsvc_flow_control_waitlist_messages', 'flow_control_key="b"')]: always(8),
      [of('msgsvc_flow_control_paused', 'flow_control_key="c"')]: always(0),
      [of('msgsvc_flow_control_waitlist_messages', 'flow_control_key="c"')]: always(8),
    },
    shown: { '{}': 1 },
  },
  ...['Known budget', 'Budget used', 'This month: billed, forecast, budget/C'].map((title) => ({
    says: 'an account without a limit has no budget',
    panel: `opsd-spend/${title}`,
    given: {
      [of('msgsvc_account_month_billing_dollars')]: always(50),
      [of('msgsvc_account_budget_dollars', 'origin="configuration"')]: always('+Inf'),
    },
    shown: {},
  })),
  {
    says: 'the budget that is used most counts, whatever the others are',
    panel: 'opsd-spend/Budget used',
    given: {
      [of('msgsvc_account_month_billing_dollars')]: always(50),
      [of('msgsvc_account_budget_dollars', 'origin="configuration"')]: always(100),
      [of('msgsvc_account_month_billing_dollars', '', { account: 'open' })]: always(900),
      [of('msgsvc_account_budget_dollars', 'origin="ledger"', { account: 'open' })]: always('+Inf'),
    },
    shown: { '{}': 0.5 },
  },
  ...[
    { says: 'the first hour of a day counts as an hour', readAt: 600, requests: 100, shown: 2_400 },
    { says: 'the pace is that of the day when it was read', readAt: 194_400, requests: 100, shown: 400 },
    { says: 'what was read before midnight is a whole day', readAt: 82_800, requests: 2_300, shown: 2_400 },
  ].map(({ says, readAt, requests, shown }) => ({
    says,
    panel: 'opsd-spend/Requests today, and projection for midnight UTC/B',
    given: {
      [of('msgsvc_account_day_requests')]: always(requests),
      [of('opsd_collector_last_success_timestamp_seconds', 'collector="accountStats"')]: always(readAt),
    },
    shown: { '{account="shop"}': shown },
  })),
  {
    says: 'the soft limit is not the hard one',
    panel: 'opsd-spend/Requests today, share of limits/B',
    given: {
      [of('msgsvc_account_day_requests')]: always(100),
      [of('msgsvc_account_limit_day_requests', 'kind="soft"')]: always(200),
      [of('msgsvc_account_limit_day_requests', 'kind="hard"')]: always(1_000),
    },
    shown: { '{account="shop"}': 0.1 },
  },
  {
    says: 'an unlimited quota is no quota, and two names of an index at once are no error',
    panel: 'opsd-search/Use of limits',
    given: {
      [of('msgsvc_vector_index_vectors', 'index="i"')]: always(10),
      [of('msgsvc_search_index_limit_vectors', 'index="i"')]: always(40),
      [of('msgsvc_vector_index_day_queries', 'index="i"')]: always(10),
      [of('msgsvc_search_index_limit_day_queries', 'index="i"')]: always('+Inf'),
      [of('msgsvc_search_index_info', 'index="i",name="b"')]: always(1),
      [of('msgsvc_search_index_info', 'index="i",name="b"', { instance: 'b' })]: always(1),
    },
    shown: { '{account="shop",index="i",name="b",quota="vectors"}': 0.25 },
  },
  {
    says: 'an index has the name of its record, and its id without one',
    panel: 'opsd-search/Vectors by index',
    given: {
      [of('msgsvc_vector_index_vectors', 'index="i"')]: always(10),
      [of('msgsvc_vector_index_vectors', 'index="j"')]: always(20),
      [of('msgsvc_search_index_info', 'index="i",name="products"')]: always(1),
    },
    shown: {
      '{account="shop",index="i",name="products"}': 10,
      '{account="shop",index="j",name="j"}': 20,
    },
  },
  {
    says: 'an index that was renamed while two daemons watch it has one name',
    panel: 'opsd-search/Vectors by index',
    given: {
      [of('msgsvc_vector_index_vectors', 'index="i"')]: always(10),
      [of('msgsvc_search_index_info', 'index="i",name="new"')]: always(2),
      [of('msgsvc_search_index_info', 'index="i",name="old"', { instance: 'b' })]: always(1),
    },
    // The value of the info metric is really 1. Here the larger value decides which name stays.
    shown: { '{account="shop",index="i",name="new"}': 20 },
  },
  {
    says: 'an account that moved has one owner, with the epoch of now',
    panel: 'opsd-daemon/Owner of each account',
    given: {
      [of('opsd_lease_owner')]: '1x30 0x29',
      [of('opsd_lease_epoch')]: '3x30 4x29',
      [of('opsd_lease_owner', '', { instance: 'b' })]: '0x30 1x29',
      [of('opsd_lease_epoch', '', { instance: 'b' })]: '3x30 4x29',
      [of('opsd_collector_stale', 'collector="logs"', { instance: 'b' })]: always(0),
    },
    shown: { '{account="shop",instance="b"}': 4 },
  },
  {
    says: 'takeovers by both replicas count for the account, at its owner',
    panel: 'opsd-daemon/Owner of each account/B',
    given: {
      [of('opsd_lease_owner')]: always(0),
      [of('opsd_lease_owner', '', { instance: 'b' })]: always(1),
      [of('opsd_lease_takeovers_total')]: '0+60x60',
      [of('opsd_lease_takeovers_total', '', { instance: 'b' })]: '0+120x60',
    },
    shown: { '{account="shop",instance="b"}': 10_800 },
  },
  {
    says: 'without replicas, each account belongs to its daemon, with the epoch 0',
    panel: 'opsd-daemon/Owner of each account',
    given: { [of('opsd_collector_stale', 'collector="logs"')]: always(0) },
    shown: { '{account="shop",instance="a"}': 0 },
  },
  {
    says: 'a replica without accounts is shown, and an account without an owner belongs to none',
    panel: 'opsd-daemon/Accounts by daemon',
    given: MAIL_UNOWNED,
    shown: { '{instance="a"}': 1, '{instance="b"}': 0 },
  },
  {
    says: 'accounts without an owner are those that no replica owns',
    panel: 'opsd-daemon/Accounts by daemon/B',
    given: MAIL_UNOWNED,
    shown: { '{}': 1 },
  },
  {
    says: 'without replicas, no account is without an owner',
    panel: 'opsd-daemon/Accounts by daemon/B',
    given: { [of('opsd_collector_stale', 'collector="logs"')]: always(0) },
    shown: { '{}': 0 },
  },
]);
