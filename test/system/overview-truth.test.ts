/**
 * Wrong content that the overview and the dashboards of policies and of the daemon must not show, evaluated by the real
 * promtool.
 */
import { always, of, testPanels } from '../support/panel-truth.ts';

const MAIL = 'destination="mail"';
const daemon = (metric: string, labels = '', instance = 'a'): string => of(metric, labels, { account: '', instance });
const source = (metric: string, collector: string): string => of(metric, `collector="${collector}"`);
const group = (name: string): string => of('opsd_breaker_state', `policy="resume",group="${name}"`);

testPanels([
  {
    says: 'no traffic is no share that was delivered',
    panel: 'opsd-overview/Messages delivered, last hour',
    given: {
      [of('msgsvc_messages_finished_total', MAIL)]: always(7),
      [of('msgsvc_message_cancellations_total', MAIL)]: always(0),
      [of('msgsvc_message_failures_total', `${MAIL},reason="http",code="503"`)]: always(7),
    },
    shown: {},
  },
  {
    says: 'what was cancelled is neither delivered nor failed',
    panel: 'opsd-overview/Messages delivered, last hour',
    given: {
      [of('msgsvc_messages_finished_total', MAIL)]: '0+600x60',
      [of('msgsvc_message_cancellations_total', MAIL)]: '0+360x60',
      [of('msgsvc_message_failures_total', `${MAIL},reason="http",code="503"`)]: '0+60x60',
    },
    shown: { '{}': 0.75 },
  },
  {
    says: 'messages that fail in a new way are not delivered while their counter still reads 0',
    panel: 'opsd-overview/Messages per second',
    given: {
      [of('msgsvc_messages_finished_total', MAIL)]: '0+600x60',
      [of('msgsvc_message_cancellations_total', MAIL)]: always(0),
      [of('msgsvc_message_failures_total', `${MAIL},reason="timeout",code=""`)]: always(0),
      [of('msgsvc_message_failures_total', `${MAIL},reason="http",code="503"`)]: always(0),
      [of('msgsvc_log_events_total', 'state="DELIVERED"')]: '0+60x60',
      [of('msgsvc_log_events_total', 'state="ERROR"')]: '0+540x60',
    },
    shown: { '{}': 1 },
  },
  {
    says: 'each canary has its verdict, and of two daemons the one that blames is shown',
    panel: 'opsd-overview/Verdicts of canaries',
    given: {
      [of('msgsvc_canary_verdict_info', 'canary="home",verdict="ok"')]: always(1),
      [of('msgsvc_canary_verdict_info', 'canary="home",verdict="service"', { instance: 'b' })]: always(1),
      [of('msgsvc_canary_verdict_info', 'canary="queue",verdict="unknown"')]: always(1),
      [of('msgsvc_canary_verdict_info', 'canary="home",verdict="ok"', { account: 'mail' })]: always(1),
    },
    shown: {
      '{account="shop",canary="home"}': 0,
      '{account="shop",canary="queue"}': 6,
      '{account="mail",canary="home"}': 7,
    },
  },
  {
    says: 'a canary that failed for less than a step failed',
    panel: 'opsd-overview/Verdicts of canaries',
    given: {
      [of('msgsvc_canary_verdict_info', 'canary="home",verdict="ok"')]: `${'1 '.repeat(57)}stale _ 1 1`,
      [of('msgsvc_canary_verdict_info', 'canary="home",verdict="network"')]: `${'_ '.repeat(57)}1 1 stale _`,
    },
    shown: { '{account="shop",canary="home"}': 2 },
  },
  {
    says: 'nobody waits while messages are on their way and none is due',
    panel: 'opsd-overview/Longest overdue message',
    given: { [of('msgsvc_messages_in_flight', MAIL)]: always(3) },
    shown: { '{}': 0 },
  },
  {
    says: 'it is not known who waits while what is on its way is withheld',
    panel: 'opsd-overview/Longest overdue message',
    given: { [of('msgsvc_messages_created_total', MAIL)]: '0+3x60' },
    shown: {},
  },
  {
    says: 'two daemons see once what expires, and what expires within three days is not added',
    panel: 'opsd-overview/Failed runs expiring within 24 h',
    given: Object.fromEntries(
      ['a', 'b'].flatMap((instance) => [
        [of('msgsvc_workflow_dlq_expiring_runs', 'workflow="w",within="24h"', { instance }), always(2)],
        [of('msgsvc_workflow_dlq_expiring_runs', 'workflow="w",within="72h"', { instance }), always(3)],
      ]),
    ),
    shown: { '{}': 2 },
  },
  {
    says: 'nothing expires of an empty workflow DLQ',
    panel: 'opsd-overview/Failed runs expiring within 24 h',
    given: {
      [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0),
      [of('msgsvc_account_limit_dlq_retention_seconds')]: always(604_800),
    },
    shown: { '{}': 0 },
  },
  {
    says: 'what expires of it is not known without a retention',
    panel: 'opsd-overview/Failed runs expiring within 24 h',
    given: { [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0) },
    shown: {},
  },
  {
    says: 'an empty workflow DLQ holds 0 runs, which is no gap',
    panel: 'opsd-overview/Backlog/D',
    given: { [of('msgsvc_workflow_dlq_aged_runs', 'age="below_1h"')]: always(0) },
    shown: { '{}': 0 },
  },
  {
    says: 'two daemons see messages on their way once',
    panel: 'opsd-overview/Backlog',
    given: {
      [of('msgsvc_messages_in_flight', MAIL)]: always(3),
      [of('msgsvc_messages_in_flight', MAIL, { instance: 'b' })]: always(3),
      [of('msgsvc_messages_in_flight', 'destination="crm"')]: always(4),
    },
    shown: { '{}': 7 },
  },
  ...[
    { says: 'an account without a limit uses no budget', budget: '+Inf', shown: { '{}': 0 } },
    { says: 'a forecast has its share of the budget', budget: 200, shown: { '{}': 0.6 } },
  ].map(({ says, budget, shown }) => ({
    says,
    panel: 'opsd-overview/Forecast cost, of budget',
    given: {
      [of('msgsvc_account_month_billing_forecast_dollars')]: always(120),
      [of('msgsvc_account_budget_dollars', 'origin="ledger"')]: always(budget),
    },
    shown,
  })),
  {
    says: 'without a known budget nothing is known',
    panel: 'opsd-overview/Forecast cost, of budget',
    given: { [of('msgsvc_account_month_billing_forecast_dollars')]: always(120) },
    shown: {},
  },
  {
    says: 'a pause, plans, a halt and a lost answer wait for a person; a canary does not',
    panel: 'opsd-overview/Waiting for an operator',
    given: {
      [daemon('opsd_paused', 'scope="engine"')]: always(1),
      [daemon('opsd_paused', 'scope="policy/resume"')]: always(0),
      [of('opsd_pending_plans', 'policy="resume"')]: always(2),
      [group('halted')]: always(2),
      [group('half open')]: always(1),
      [daemon('opsd_unknown_outcomes')]: always(1),
    },
    shown: { '{}': 5 },
  },
  ...['overview/Actions by policy', 'policies/Actions by policy', 'dlq/Removed by policies'].map((panel) => ({
    says: 'a bar counts what happened in its step alone, however long the window of the rate is',
    panel: `opsd-${panel}`,
    given: { [of('opsd_action_items_total', 'policy="prune",action="message-dlq.prune"')]: '0+15x60' },
    shown: { '{policy="prune",action="message-dlq.prune"}': 15 },
  })),
  {
    says: 'each reason has its share of the attempts of its destination',
    panel: 'opsd-overview/Failed attempts by destination and reason, last hour/B',
    given: {
      [of('msgsvc_message_attempts_total', MAIL)]: '0+8x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="http",code="503"`)]: '0+4x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="dns",code=""`)]: '0+2x60',
      [of('msgsvc_message_attempt_failures_total', `${MAIL},reason="tls",code=""`)]: always(9),
    },
    shown: {
      '{account="shop",destination="mail",reason="http",code="503"}': 0.5,
      '{account="shop",destination="mail",reason="dns"}': 0.25,
    },
  },
  ...['opsd-overview/Age of the data, by source', 'opsd-daemon/Sources, oldest first/B'].map((panel) => ({
    says: 'a source that was never read, as with a wrong token, has used up its time',
    panel,
    given: {
      [source('opsd_collector_stale', 'logs')]: always(1),
      [source('opsd_collector_interval_seconds', 'logs')]: always(15),
      [source('opsd_collector_stale', 'urlGroups')]: always(0),
      [source('opsd_collector_interval_seconds', 'urlGroups')]: always(15),
      [source('opsd_collector_last_success_timestamp_seconds', 'urlGroups')]: always(3_555),
    },
    shown: { '{account="shop",collector="logs"}': 1, '{account="shop",collector="urlGroups"}': 0.25 },
  })),
  ...[
    { says: 'a source that is read often has three minutes', interval: 15, shown: 0.5 },
    { says: 'a source that is read seldom has three intervals', interval: 300, shown: 0.1 },
  ].map(({ says, interval, shown }) => ({
    says,
    panel: 'opsd-overview/Age of the data, by source',
    given: {
      [source('opsd_collector_last_success_timestamp_seconds', 'logs')]: always(3_510),
      [source('opsd_collector_interval_seconds', 'logs')]: always(interval),
    },
    shown: { '{account="shop",collector="logs"}': shown },
  })),
]);

const POLICY = 'policy="resume"';
const INFO = of('opsd_policy_mode_info', `${POLICY},owner="payments",mode="enforce",effective_mode="audit"`);

testPanels([
  {
    says: 'a canary is no halt',
    panel: 'opsd-policies/Groups halted',
    given: { [group('a')]: always(2), [group('b')]: always(1), [group('c')]: always(0) },
    shown: { '{}': 1 },
  },
  {
    says: 'without campaigns nothing is said of halts',
    panel: 'opsd-policies/Groups halted',
    given: { [of('opsd_pending_plans', POLICY)]: always(0) },
    shown: {},
  },
  {
    says: 'no plan waits',
    panel: 'opsd-policies/Oldest pending approval',
    given: { [of('opsd_pending_plans', POLICY)]: always(0) },
    shown: { '{}': 0 },
  },
  {
    says: 'the oldest plan has waited longest',
    panel: 'opsd-policies/Oldest pending approval',
    given: {
      [of('opsd_pending_plans', POLICY)]: always(1),
      [of('opsd_oldest_pending_plan_timestamp_seconds', POLICY)]: always(3_000),
      [of('opsd_oldest_pending_plan_timestamp_seconds', 'policy="prune"')]: always(3_300),
    },
    shown: { '{}': 600 },
  },
  {
    says: 'a policy is one row with its modes',
    panel: 'opsd-policies/Policies and their last run/D',
    given: { [INFO]: always(1), [of('opsd_policy_matched_items', POLICY)]: always(7) },
    shown: { '{account="shop",policy="resume",owner="payments",mode="enforce",effective_mode="audit"}': 7 },
  },
  {
    says: 'pauses of policies are not that of the engine',
    panel: 'opsd-policies/Policies paused',
    given: {
      [daemon('opsd_paused', 'scope="engine"')]: always(1),
      [daemon('opsd_paused', 'scope="policy/resume"')]: always(1),
      [daemon('opsd_paused', 'scope="policy/prune"')]: always(0),
    },
    shown: { '{}': 1 },
  },
]);

testPanels([
  {
    says: 'a pause that was shorter than a step of the marks is marked',
    panel: 'opsd-daemon/@Pauses',
    given: {
      [daemon('opsd_paused', 'scope="engine"')]: `${always(0).slice(0, 2 * 57)}1 0 0 0`,
      [daemon('opsd_paused', 'scope="policy/resume"')]: always(0),
    },
    shown: { '{scope="engine"}': 1 },
  },
  {
    says: 'a halt that was shorter than a step of the marks is marked',
    panel: 'opsd-daemon/@Halted groups',
    given: { [group('mail')]: `${'_ '.repeat(57)}0 2 0 stale stale`, [group('crm')]: always(1) },
    shown: { '{account="shop",policy="resume",group="mail"}': 2 },
  },
  {
    says: 'too little is as far apart as too much',
    panel: 'opsd-daemon/Log and statistics, largest difference',
    given: {
      [of('opsd_reconciliation_ratio', 'source="accountStats",state="CREATED"')]: always(0.75),
      [of('opsd_reconciliation_ratio', 'source="accountStats",state="DELIVERED"')]: always(1.125),
    },
    shown: { '{}': 0.25 },
  },
  {
    says: 'each daemon has its own version, and its series of its own limit',
    panel: 'opsd-daemon/Daemons/E',
    given: Object.fromEntries(
      [
        { instance: 'a', version: '1', limit: 1_000 },
        { instance: 'b', version: '2', limit: 400 },
      ].flatMap(({ instance, version, limit }) => [
        [daemon('opsd_build_info', `version="${version}",revision="r",node_version="v24"`, instance), always(1)],
        [daemon('opsd_series', '', instance), always(200)],
        [daemon('opsd_series_limit', '', instance), always(limit)],
      ]),
    ),
    shown: { '{instance="a",version="1"}': 0.2, '{instance="b",version="2"}': 0.5 },
  },
  ...(['A', 'B', 'C', 'D', 'E', 'F'] as const).map((query) => ({
    says: `two targets with one instance label are a row, and not an error, in column ${query}`,
    panel: `opsd-daemon/Daemons/${query}`,
    given: Object.fromEntries(
      ['one', 'two'].flatMap((pod) => [
        [daemon('opsd_build_info', `version="1",revision="${pod}",node_version="v24",pod="${pod}"`), always(1)],
        [daemon('process_start_time_seconds', `pod="${pod}"`), always(5)],
        [daemon('opsd_leader', `pod="${pod}"`), always(1)],
        [daemon('opsd_config_last_reload_successful', `pod="${pod}"`), always(1)],
        [daemon('opsd_config_last_reload_success_timestamp_seconds', `pod="${pod}"`), always(5)],
        [daemon('opsd_series', `pod="${pod}"`), always(200)],
        [daemon('opsd_series_limit', `pod="${pod}"`), always(1_000)],
        [daemon('opsd_state_last_save_timestamp_seconds', `pod="${pod}"`), always(3_590)],
      ]),
    ),
    shown: { '{instance="a",version="1"}': { A: 5_000, B: 1, C: 1, D: 5_000, E: 0.2, F: 10 }[query] },
  })),
  {
    says: 'a new pod is a start, and so is a start of the same; a daemon that was out of reach is none',
    panel: 'opsd-daemon/@Restarts',
    given: {
      [daemon('process_start_time_seconds', '', 'new')]: '_x57 3420 3420 3420',
      [daemon('process_start_time_seconds', '', 'same')]: '5x58 3500 3500',
      [daemon('process_start_time_seconds', '', 'old')]: '5x60',
      [daemon('process_start_time_seconds', '', 'out of reach')]: '5x20 _x37 5 5 5',
    },
    shown: { '{job="opsd",instance="same"}': 1, 'process_start_time_seconds{job="opsd",instance="new"}': 3_420 },
  },
]);
