/** Dashboard of policies: permitted actions, actions taken, backlog, holds, and outcomes. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { falling, FROM_ONE, PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import { barGauge, stat, stateTimeline, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, most, perStep, quantile, sel } from './parts/selectors.ts';
import type { SeriesName } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { unitOf } from './parts/units.ts';

const { automation } = THRESHOLDS;

const OF_POLICY = 'policy=~"$policy"';

/** A group lives as long as its campaign, which may be shorter than a step. */
const mostBy = (by: string, series: SeriesName) => `max by (${by}) (${most(series, '$__rate_interval', OF_POLICY)})`;

/** Returns an expression with one row per policy, with its owner and modes. */
function ofPolicy(expr: string): string {
  const labels = 'owner, mode, effective_mode';
  const joined = `${expr} * on (account, policy, job, instance) group_left (${labels}) ${sel('opsd_policy_mode_info', OF_POLICY)}`;
  return `max by (account, policy, ${labels}) (${joined})`;
}

const still = row('Holds and pauses', [
  stat({
    title: 'Engine',
    description:
      'PAUSED: an operator, the kill switch or the engine itself paused all policies. Resume with opsd unpause; the status page shows who paused it and why.',
    unit: unitOf('opsd_paused'),
    queries: [query(`max(${sel('opsd_paused', 'scope="engine"')})`)],
    steps: rising({ critical: 1 }),
    mappings: [words({ 0: ['runs', 'green'], 1: ['PAUSED', 'red'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Policies paused',
    description: 'Policies that are paused individually. Resume with opsd unpause --policy NAME.',
    unit: 'short',
    queries: [query(`sum(max by (scope) (${sel('opsd_paused', 'scope=~"policy/.*"')}))`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Groups halted',
    description:
      'Groups where too many resumed runs failed again. Fix the destination; the breaker tries one entry after its wait.',
    unit: 'short',
    queries: [query(`sum(${sel('opsd_breaker_state', OF_POLICY)} == bool 2)`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no campaigns',
  }),
  stat({
    title: 'Pending approvals',
    description:
      'Plans that an operator must decide: opsd approve PLAN or opsd reject PLAN. The status page lists them.',
    unit: unitOf('opsd_pending_plans'),
    queries: [query(`sum(${sel('opsd_pending_plans', OF_POLICY)})`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Oldest pending approval',
    description: 'Age of the oldest pending plan. Its entries may no longer exist: an approval lists them again.',
    unit: 's',
    queries: [
      query(
        `max(time() - ${sel('opsd_oldest_pending_plan_timestamp_seconds', OF_POLICY)}) or 0 * max(${sel('opsd_pending_plans', OF_POLICY)})`,
      ),
    ],
    steps: rising({ warning: automation.approvalSeconds, critical: 86_400 }),
    mappings: [words({ 0: ['none pending', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Unknown outcomes',
    description:
      'Requests whose response was lost. Later readings resolve them, and nothing is sent twice in the meantime. See opsd explain ID.',
    unit: unitOf('opsd_unknown_outcomes'),
    queries: [query(`sum(${sel('opsd_unknown_outcomes')})`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no daemon',
  }),
]);

const policies = row(
  'Policies',
  [
    table({
      title: 'Policies and their last run',
      description:
        'Each policy with its configured and its effective mode. Matched and left for later are from the last run; the rest waits for the ramp or the caps.',
      labels: { account: 'Account', policy: 'Policy', owner: 'Owner', mode: 'Mode', effective_mode: 'In effect' },
      columns: [
        {
          title: 'Pending approvals',
          expr: ofPolicy(sel('opsd_pending_plans', OF_POLICY)),
          unit: unitOf('opsd_pending_plans'),
          steps: FROM_ONE,
        },
        ...(
          [
            ['Last run', 'opsd_policy_last_run_timestamp_seconds'],
            ['Next run', 'opsd_policy_next_run_timestamp_seconds'],
          ] as const
        ).map(([title, series]) => ({
          title,
          expr: `${ofPolicy(sel(series, OF_POLICY))} * 1000`,
          unit: unitOf(series),
        })),
        ...(
          [
            ['Matched', 'opsd_policy_matched_items'],
            ['Left for later', 'opsd_policy_backlog_items'],
            ['Drained in', 'opsd_policy_drain_seconds'],
          ] as const
        ).map(([title, series]) => ({ title, expr: ofPolicy(sel(series, OF_POLICY)), unit: unitOf(series) })),
      ],
      sortBy: 'Matched',
      noValue: '–',
    }),
  ],
  [
    table({
      title: 'Holds by guard',
      description:
        'Guards that currently hold a policy, and for how long. Each run checks them again; docs/guards.md has their remedies. Empty while nothing is held.',
      labels: { account: 'Account', policy: 'Policy', guard: 'Guard' },
      columns: [
        {
          title: 'Held for',
          expr: `max by (account, policy, guard) (time() - ${sel('opsd_policy_held_since_timestamp_seconds', OF_POLICY)})`,
          unit: 's',
          steps: rising({ warning: automation.heldSeconds, critical: 86_400 }),
        },
      ],
      sortBy: 'Held for',
      noValue: 'none known',
    }),
    timeSeries({
      title: 'Denials by guard',
      description:
        'Entries denied and runs held, by guard, without entries that the expression of the policy excludes. ramp and grace are part of normal operation. Check a guard that is new here.',
      unit: unitOf('opsd_policy_guard_denials_total'),
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [
        query(
          `sum by (guard) (${perStep('opsd_policy_guard_denials_total', `guard!="where",${OF_POLICY}`)}) > 0`,
          '{{guard}}',
        ),
      ],
      noValue: 'none known',
    }),
  ],
);

const OUTCOMES = 'opsd_action_outcomes_total';
const judged = (outcome: string) => `sum by (policy) (${increase(OUTCOMES, `${outcome},${OF_POLICY}`)})`;

const acts = row(
  'Actions and outcomes',
  [
    timeSeries({
      title: 'Actions by policy',
      description: 'Entries and runs acted on, by policy and action, and raises of the budget.',
      unit: unitOf('opsd_action_items_total'),
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [
        query(`sum by (policy, action) (${perStep('opsd_action_items_total', OF_POLICY)})`, '{{policy}}: {{action}}'),
      ],
      noValue: 'none known',
    }),
    timeSeries({
      title: 'Outcomes',
      description:
        'Outcomes of actions. verified: the repair lasted. failed_again: the run failed again. unverified: the entry is still listed. rejected: the service rejected the request. Accepted actions without a later outcome are omitted.',
      unit: unitOf(OUTCOMES),
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [
        query(
          `sum by (action, outcome) (${perStep(OUTCOMES, `outcome!~"accepted|unknown",${OF_POLICY}`)}) > 0`,
          '{{action}}: {{outcome}}',
        ),
      ],
      noValue: 'no outcomes yet',
    }),
  ],
  [
    barGauge({
      title: 'Successful repairs by policy',
      description:
        'Share of repairs in the time range that lasted. Low: the cause persists, and the policy repeats itself. Policies without an outcome are omitted.',
      unit: 'percentunit',
      decimals: 0,
      max: 1,
      queries: [
        query(
          `${judged('outcome="verified"')} / (${judged('outcome=~"verified|failed_again|unverified"')} > 0)`,
          '{{policy}}',
        ),
      ],
      steps: falling({ warning: 1 - automation.unhelpfulRatio, critical: 0.5 }),
      noValue: 'no outcomes yet',
      height: 7,
    }),
    timeSeries({
      title: 'Policy runs by outcome',
      description:
        'Policy runs by outcome. held: a guard holds the run. pending_approval: an operator must decide. deferred: a window, an interval or a settling step delays the run. failed, aborted and halted need an operator.',
      unit: unitOf('opsd_policy_runs_total'),
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [query(`sum by (outcome) (${perStep('opsd_policy_runs_total', OF_POLICY)}) > 0`, '{{outcome}}')],
      height: 7,
    }),
    timeSeries({
      title: 'Action duration, p95',
      description:
        '95 % of requests of an action are faster. A slow service slows down a campaign; nothing is sent twice because of it.',
      unit: unitOf('opsd_action_duration_seconds_sum'),
      interval: '1m',
      queries: [query(quantile(0.95, 'opsd_action_duration_seconds', ['action']), '{{action}}')],
      noValue: 'none known',
      height: 7,
    }),
  ],
);

const campaigns = row(
  'Campaigns',
  [
    stateTimeline({
      title: 'Breakers',
      description:
        'State of the groups of campaigns. closed: sends by its ramp. half open: waits for one canary. halted: waits because too many runs failed again. Each step shows the worst state.',
      unit: 'short',
      queries: [query(mostBy('policy, group', 'opsd_breaker_state'), '{{policy}}: {{group}}')],
      mappings: [words({ 0: ['closed', 'green'], 1: ['half open', 'orange'], 2: ['halted', 'red'] })],
      noValue: 'no campaigns',
    }),
    timeSeries({
      title: 'Steps of campaigns',
      description:
        "Maximum entries of a campaign's current step. It grows while sent entries are verified, and starts again after a halt.",
      unit: unitOf('opsd_campaign_step_items'),
      queries: [query(mostBy('policy, group', 'opsd_campaign_step_items'), '{{policy}}: {{group}}')],
      noValue: 'no campaigns',
      height: 6,
    }),
  ],
  [
    timeSeries({
      title: 'Backlog by policy',
      description:
        'Entries that the last run matched and left for later. The line must fall during a campaign. If it rises, more runs fail than are repaired.',
      unit: unitOf('opsd_policy_backlog_items'),
      queries: [query(`max by (account, policy) (${sel('opsd_policy_backlog_items', OF_POLICY)})`, '{{policy}}')],
    }),
    timeSeries({
      title: 'Time until the backlog is drained',
      description:
        'Estimated duration of the backlog at the limits of ramp and caps, from the last run. Compare it with the expiring runs. No line without a backlog.',
      unit: unitOf('opsd_policy_drain_seconds'),
      queries: [query(mostBy('account, policy', 'opsd_policy_drain_seconds'), '{{policy}}')],
      noValue: 'none known',
    }),
  ],
);

const allowed = row('Caps and triggers', [
  table({
    title: 'Remaining caps',
    description:
      'Items that sliding windows still allow for the engine, an account and a policy. An action needs space in all of its windows. At 0, a policy waits until the window moves on.',
    labels: { scope: 'Of', window: 'Within' },
    columns: [
      {
        title: 'Remaining',
        expr: `min by (scope, window) (${sel('opsd_cap_remaining')})`,
        unit: unitOf('opsd_cap_remaining'),
        steps: [
          { value: null, color: 'red' },
          { value: 1, color: 'text' },
        ],
      },
    ],
    noValue: 'no caps',
  }),
  timeSeries({
    title: 'Runs requested by alerts and callbacks',
    description:
      'Policy runs by trigger, in addition to their schedule. Empty while alerts are firing: check the hooks of the daemon.',
    unit: unitOf('opsd_policy_triggers_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [
      query(
        `sum by (policy, trigger) (${perStep('opsd_policy_triggers_total', OF_POLICY)})`,
        '{{policy}}: {{trigger}}',
      ),
    ],
    noValue: 'none known',
  }),
  timeSeries({
    title: 'Failed expressions',
    description:
      'Entries whose where expression could not be evaluated. They are not acted on; opsd explain ID shows the missing field.',
    unit: unitOf('opsd_policy_evaluation_errors_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [query(`sum by (policy) (${perStep('opsd_policy_evaluation_errors_total', OF_POLICY)})`, '{{policy}}')],
    steps: PLAIN,
    noValue: 'none known',
  }),
]);

export const policiesDashboard = dashboard({
  uid: 'opsd-policies',
  title: 'opsd: policies and campaigns',
  description: 'Permitted actions, actions taken and their outcomes, backlog, and holds.',
  variables: [
    {
      name: 'policy',
      label: 'Policy',
      description: 'Policies of the selected accounts.',
      of: 'opsd_policy_mode_info',
      value: 'policy',
    },
  ],
  rows: [still, policies, acts, campaigns, allowed],
});
