/** What the automation may do, does, leaves and waits for, and what became of it. */
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

/** One row a policy, with its owner and its modes. */
function ofPolicy(expr: string): string {
  const labels = 'owner, mode, effective_mode';
  const joined = `${expr} * on (account, policy, job, instance) group_left (${labels}) ${sel('opsd_policy_mode_info', OF_POLICY)}`;
  return `max by (account, policy, ${labels}) (${joined})`;
}

const still = row('Does it stand still?', [
  stat({
    title: 'Engine',
    description:
      'PAUSED: a person, the kill switch or the engine itself stopped all policies. opsd unpause goes on; the status page says who paused it and why.',
    unit: unitOf('opsd_paused'),
    queries: [query(`max(${sel('opsd_paused', 'scope="engine"')})`)],
    steps: rising({ critical: 1 }),
    mappings: [words({ 0: ['runs', 'green'], 1: ['PAUSED', 'red'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Policies paused',
    description: 'Policies that were paused one by one. opsd unpause --policy NAME goes on.',
    unit: 'short',
    queries: [query(`sum(${sel('opsd_paused', 'scope=~"policy/.*"')})`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Groups halted',
    description:
      'Groups in which too much of what was resumed failed again. Mend the destination; one entry is tried when the time of the breaker is up.',
    unit: 'short',
    queries: [query(`sum(${sel('opsd_breaker_state', OF_POLICY)} == bool 2)`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no campaigns',
  }),
  stat({
    title: 'Plans wait for approval',
    description: 'Plans that a person must read. opsd approve PLAN or opsd reject PLAN; the status page has them.',
    unit: unitOf('opsd_pending_plans'),
    queries: [query(`sum(${sel('opsd_pending_plans', OF_POLICY)})`)],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Oldest pending plan',
    description:
      'For how long the oldest plan has waited for a person. What it was made for may be gone: approval lists anew.',
    unit: 's',
    queries: [
      query(
        `max(time() - ${sel('opsd_oldest_pending_plan_timestamp_seconds', OF_POLICY)}) or 0 * max(${sel('opsd_pending_plans', OF_POLICY)})`,
      ),
    ],
    steps: rising({ warning: automation.approvalSeconds, critical: 86_400 }),
    mappings: [words({ 0: ['none waits', 'green'] })],
    noValue: 'no policies',
  }),
  stat({
    title: 'Outcomes not known',
    description:
      'Requests whose answer was lost. Reading resolves them, and nothing is sent twice meanwhile. opsd explain ID tells of one.',
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
        'Each policy with the mode that is written and the one in effect. Matched and left are of the last run; what is left waits for the ramp or the caps.',
      labels: { account: 'Account', policy: 'Policy', owner: 'Owner', mode: 'Mode', effective_mode: 'In effect' },
      columns: [
        {
          title: 'Waits for approval',
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
      title: 'What holds a policy?',
      description:
        'Guards that hold a policy now, and for how long. Each is asked again in each run; docs/guards.md says what it waits for. Empty while nothing is held.',
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
      title: 'What guards stopped',
      description:
        'Items or runs stopped, by guard, without those that the expression of a policy does not choose. ramp and grace are how a policy is meant to work; a guard that is new here is worth a look.',
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
  'What did it do, and did it help?',
  [
    timeSeries({
      title: 'Acted on, by policy',
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
      title: 'What became of it',
      description:
        'Outcomes of actions: verified: the repair lasted, failed_again: the run failed again, unverified is listed still, rejected was refused. What is only accepted so far is left out.',
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
      noValue: 'nothing to judge',
    }),
  ],
  [
    barGauge({
      title: 'Did it help? By policy, over the time shown',
      description:
        'Of what was judged over the time shown, what stayed repaired. Low: the cause is not gone, and the policy repeats itself. Policies without a judged action are left out.',
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
      noValue: 'nothing judged',
      height: 7,
    }),
    timeSeries({
      title: 'How runs of policies ended',
      description:
        'Runs by outcome. held waits for a guard, waiting for a person or a ramp; error, aborted and halted want somebody to look.',
      unit: unitOf('opsd_policy_runs_total'),
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [query(`sum by (outcome) (${perStep('opsd_policy_runs_total', OF_POLICY)}) > 0`, '{{outcome}}')],
      height: 7,
    }),
    timeSeries({
      title: 'How long an action takes',
      description:
        '95 of 100 requests of an action are faster. A slow service makes a campaign slow; nothing is sent twice for it.',
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
        'Each group of a campaign: closed sends by its ramp, half open waits for one canary, halted waits for its time to be up, since too much failed again. Each step shows its worst.',
      unit: 'short',
      queries: [query(mostBy('policy, group', 'opsd_breaker_state'), '{{policy}}: {{group}}')],
      mappings: [words({ 0: ['closed', 'green'], 1: ['half open', 'orange'], 2: ['halted', 'red'] })],
      noValue: 'no campaigns',
    }),
    timeSeries({
      title: 'Steps of campaigns',
      description:
        'Most entries that the present step of a campaign may send. It grows while what was sent is verified, and begins anew after a halt.',
      unit: unitOf('opsd_campaign_step_items'),
      queries: [query(mostBy('policy, group', 'opsd_campaign_step_items'), '{{policy}}: {{group}}')],
      noValue: 'no campaigns',
      height: 6,
    }),
  ],
  [
    timeSeries({
      title: 'Left for later, by policy',
      description:
        'What the last run matched and left for later. It must fall while a campaign goes on; if it grows, more fails than is repaired.',
      unit: unitOf('opsd_policy_backlog_items'),
      queries: [query(`max by (account, policy) (${sel('opsd_policy_backlog_items', OF_POLICY)})`, '{{policy}}')],
    }),
    timeSeries({
      title: 'Time until it is drained',
      description:
        'How long the rest takes by the ramp and the caps, as of the last run. Compare it with what expires. No line while nothing is left.',
      unit: unitOf('opsd_policy_drain_seconds'),
      queries: [query(mostBy('account, policy', 'opsd_policy_drain_seconds'), '{{policy}}')],
      noValue: 'none known',
    }),
  ],
);

const allowed = row('What it may do, and what asked for it', [
  table({
    title: 'What the caps still allow',
    description:
      'Items that sliding windows still allow, of the engine, an account and a policy; an action needs room in all of its own. At 0 a policy waits until the window has moved on.',
    labels: { scope: 'Of', window: 'Within' },
    columns: [
      {
        title: 'Still allowed',
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
    title: 'Runs that alerts and callbacks asked for',
    description:
      'Runs of policies by what triggered them, besides their schedule. Nothing here, with alerts firing: look at the hooks of the daemon.',
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
    title: 'Expressions that failed',
    description:
      'Entries on which the where of a policy could not be evaluated. They are left alone; opsd explain ID says what was missing.',
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
  description: 'What the automation may do, does, leaves and waits for, and what became of it.',
  variables: [
    {
      name: 'policy',
      label: 'Policy',
      description: 'Policies of the accounts chosen.',
      of: 'opsd_policy_mode_info',
      value: 'policy',
    },
  ],
  rows: [still, policies, acts, campaigns, allowed],
});
