/** Failed workflow runs: what is held, since when, what expires, what came and went, and their failure functions. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import { heatmap, stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, once, perStep, quantile, rate, sel } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { unitOf } from './parts/units.ts';

/** A workflow is its host and its path. */
const CHOSEN = 'workflow=~"($host)(/.*)?",workflow=~"$workflow"';
const RUNS = 'msgsvc_workflow_dlq_runs';
const AGED = 'msgsvc_workflow_dlq_aged_runs';
const EXPIRING = 'msgsvc_workflow_dlq_expiring_runs';
const FUNCTIONS = 'msgsvc_workflow_dlq_failure_function_runs';
const OLDEST = 'msgsvc_workflow_dlq_oldest_run_timestamp_seconds';
const ENTERED = 'msgsvc_workflow_dlq_entered_runs_total';
const LEFT = 'msgsvc_workflow_dlq_left_runs_total';
const LIFETIME = 'msgsvc_workflow_run_lifetime_seconds';
/** In this order from the bottom. */
const AGES = [
  ['below_1h', 'below an hour'],
  ['1h_to_6h', '1 to 6 hours'],
  ['6h_to_1d', '6 hours to a day'],
  ['1d_to_7d', '1 to 7 days'],
  ['above_7d', 'above 7 days'],
  ['unknown', 'unknown'],
] as const;
const NO_RETENTION = 'no retention set';

/** The sum of the ages is the size of the DLQ, told even when it is empty: a 0 that is true. */
const truly0 = `0 * sum(${once(AGED, ['age'])})`;
const held = (by: readonly string[]): string =>
  `sum by (${by.join(', ')}) (${once(RUNS, ['workflow', 'reason'], CHOSEN)})`;
const expiring = (within: string): string => `sum(${once(EXPIRING, ['workflow'], `${CHOSEN},within="${within}"`)})`;

const now: Row = row('Now', [
  stat({
    title: 'Failed runs held',
    description:
      'What the workflow DLQ holds of the chosen workflows, by the last whole listing and what came since. No value while a listing is not complete.',
    unit: unitOf(RUNS),
    queries: [query(`sum(${once(RUNS, ['workflow', 'reason'], CHOSEN)}) or ${truly0}`)],
    steps: PLAIN,
    links: [linkTo('opsd-policies', 'What policies do about it')],
  }),
  stat({
    title: 'Oldest run held',
    description:
      'How long ago the oldest run of the chosen workflows failed. Compare it with how long your plan keeps runs: then it is gone.',
    unit: 's',
    decimals: 1,
    queries: [query(`time() - min(${once(OLDEST, ['workflow'], CHOSEN)})`)],
    steps: rising({ warning: THRESHOLDS.workflows.oldestSeconds }),
    noValue: 'none held, or not read',
  }),
  stat({
    title: 'Expire within a day',
    description:
      'Runs that leave by age within 24 hours, by limits.dlqRetention of the configuration. Resume or archive them before: they do not come back.',
    unit: unitOf(EXPIRING),
    queries: [
      query(`${expiring('24h')} or ${truly0} * on () max(${sel('msgsvc_account_limit_dlq_retention_seconds')})`),
    ],
    steps: rising({ critical: 1 }),
    noValue: NO_RETENTION,
  }),
  stat({
    title: 'Expire within three days',
    description: 'Runs that leave by age within 72 hours, those of the next day among them.',
    unit: unitOf(EXPIRING),
    queries: [
      query(`${expiring('72h')} or ${truly0} * on () max(${sel('msgsvc_account_limit_dlq_retention_seconds')})`),
    ],
    steps: rising({ warning: 1 }),
    noValue: NO_RETENTION,
  }),
  stat({
    title: 'Failure functions that failed',
    description:
      'Held runs whose failure function failed too: nobody was told, and nothing was cleaned up. The runbook of the alert says how to look at one.',
    unit: unitOf(FUNCTIONS),
    queries: [query(`sum(${once(FUNCTIONS, ['workflow', 'state'], `${CHOSEN},state="CALLBACK_FAIL"`)}) or ${truly0}`)],
    steps: rising({ warning: 1 }),
  }),
  stat({
    title: 'Listing',
    description:
      'Whether the last listing of the workflow DLQ was read to its end. If not, all that says what is held is withheld; what came and went is not lost.',
    unit: unitOf('opsd_workflow_dlq_listing_complete'),
    queries: [query(`min(${sel('opsd_workflow_dlq_listing_complete')})`)],
    steps: rising({}),
    mappings: [words({ 0: ['not complete', 'red'], 1: ['complete', 'green'] })],
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
]);

const holding: Row = row(
  'Which workflows fail, and why?',
  [
    table({
      title: 'Workflows',
      description:
        'Runs held and when they failed are of this moment; entered and left are over the time shown. A workflow whose newest run is of minutes ago fails now. A click on a name shows it alone.',
      labels: { workflow: 'Workflow' },
      columns: [
        { title: 'Held', expr: held(['workflow']), unit: unitOf(RUNS) },
        {
          title: 'Oldest',
          expr: `1000 * min by (workflow) (${once(OLDEST, ['workflow'], CHOSEN)})`,
          unit: unitOf(OLDEST),
        },
        {
          title: 'Newest',
          expr: `1000 * max by (workflow) (${sel('msgsvc_workflow_dlq_newest_run_timestamp_seconds', CHOSEN)})`,
          unit: unitOf('msgsvc_workflow_dlq_newest_run_timestamp_seconds'),
        },
        {
          title: 'Entered',
          expr: `sum by (workflow) (${increase(ENTERED, CHOSEN)})`,
          unit: unitOf(ENTERED),
          decimals: 0,
          steps: rising({ warning: 1 }),
        },
        { title: 'Left', expr: `sum by (workflow) (${increase(LEFT, CHOSEN)})`, unit: unitOf(LEFT), decimals: 0 },
        {
          title: 'Expire in 3 days',
          expr: `sum by (workflow) (${once(EXPIRING, ['workflow'], `${CHOSEN},within="72h"`)})`,
          unit: unitOf(EXPIRING),
          steps: rising({ warning: 1 }),
        },
      ],
      sortBy: 'Held',
      noValue: 'none held, or not read',
      click: { workflow: linkTo('opsd-workflows', 'Only this one', { workflow: '${__data.fields.Workflow}' }) },
    }),
  ],
  [
    timeSeries({
      title: 'Runs held by workflow',
      description: 'How many failed runs of each workflow are held. Climbs: it fails, and nobody repairs it.',
      unit: unitOf(RUNS),
      stacked: true,
      queries: [query(held(['workflow']), '{{workflow}}')],
      click: [linkTo('opsd-workflows', 'Only ${__field.labels.workflow}', { workflow: '${__field.labels.workflow}' })],
    }),
    timeSeries({
      title: 'Runs held by reason',
      description:
        'Why the held runs failed: an answer of the destination (http), or none (dns, tls, connection, timeout, no_response). Runs that got no answer are often worth a resume once the destination is up.',
      unit: unitOf(RUNS),
      stacked: true,
      queries: [query(held(['reason']), '{{reason}}')],
    }),
  ],
  [
    timeSeries({
      title: 'Runs held by status of the last answer',
      description:
        'Of all workflows. 4xx will fail again when resumed, until the workflow or its input is mended; 5xx may not.',
      unit: unitOf('msgsvc_workflow_dlq_status_runs'),
      stacked: true,
      queries: [query(`sum by (code) (${once('msgsvc_workflow_dlq_status_runs', ['code'])})`, '{{code}}')],
    }),
    timeSeries({
      title: 'Runs held by age',
      description:
        'Of all workflows, by how long ago they failed. Runs that move from the young to the old are not looked after.',
      unit: unitOf(AGED),
      stacked: true,
      queries: AGES.map(([age, name]) => query(`sum(${once(AGED, [], `age="${age}"`)})`, name)),
    }),
    timeSeries({
      title: 'Runs held by flow-control key',
      description: 'Of all workflows, the runs that have a key. Many of one key: see what holds it.',
      unit: unitOf('msgsvc_workflow_dlq_flow_control_runs'),
      queries: [
        query(
          `sum by (flow_control_key) (${once('msgsvc_workflow_dlq_flow_control_runs', ['flow_control_key'])})`,
          '{{flow_control_key}}',
        ),
      ],
      noValue: 'none has a key, or not read',
      click: [
        linkTo('opsd-flow-control', 'Key ${__field.labels.flow_control_key}', {
          key: '${__field.labels.flow_control_key}',
        }),
      ],
    }),
  ],
);

const flow: Row = row(
  'Do more come than go?',
  [
    timeSeries({
      title: 'Entered and left a minute',
      description:
        'Runs that failed, and that left: resumed or deleted by this daemon, expired by age, other (removed by someone else), or unknown. Departures show with the next whole listing, 15 minutes later at most.',
      unit: 'cpm',
      queries: [
        query(`60 * sum(${rate(ENTERED, CHOSEN)})`, 'entered'),
        query(`60 * sum by (cause) (${rate(LEFT, CHOSEN)})`, 'left: {{cause}}'),
      ],
      links: [linkTo('opsd-policies', 'Policies')],
    }),
    timeSeries({
      title: 'Entered a minute, by workflow and reason',
      description: 'Runs that failed for good. What was there when counting began is not among them.',
      unit: 'cpm',
      stacked: true,
      queries: [query(`60 * sum by (workflow, reason) (${rate(ENTERED, CHOSEN)})`, '{{workflow}} {{reason}}')],
      noValue: 'none known',
    }),
  ],
  [
    timeSeries({
      title: 'Runs about to expire',
      description:
        'Runs that leave by age within a day and within three days, those of the day among them. Nothing is shown where limits.dlqRetention is not set.',
      unit: unitOf(EXPIRING),
      queries: [query(`sum by (within) (${once(EXPIRING, ['workflow', 'within'], CHOSEN)})`, 'within {{within}}')],
      noValue: NO_RETENTION,
    }),
    timeSeries({
      title: 'Failure functions of the held runs',
      description:
        'What became of the failure functions: none where the workflow has none. CALLBACK_FAIL: it failed too. CALLBACK_INPROGRESS for long: it hangs.',
      unit: unitOf(FUNCTIONS),
      stacked: true,
      queries: [query(`sum by (state) (${once(FUNCTIONS, ['workflow', 'state'], CHOSEN)})`, '{{state}}')],
    }),
  ],
);

const lifetime: Row = row('How long did they live?', [
  heatmap({
    title: 'Lifetime of failed runs',
    description:
      'Time from the creation of a run until it failed, of the runs that entered, of all workflows. Bands say at which step or timeout they die.',
    unit: 's',
    query: query(`sum by (le) (${perStep(`${LIFETIME}_bucket`)})`),
  }),
  timeSeries({
    title: 'Lifetime of failed runs, p50 and p95',
    description: 'Half of the runs that entered, and 95 of 100, had failed within. A gap where none entered.',
    unit: 's',
    queries: [query(quantile(0.5, LIFETIME), 'p50'), query(quantile(0.95, LIFETIME), 'p95')],
    noValue: 'none known',
  }),
  timeSeries({
    title: 'Workflow runs and messages today',
    description:
      'Of the current UTC day, as the statistics of the service count them: how much there is that may fail. Begins at 0 at midnight UTC.',
    unit: unitOf('msgsvc_account_day_workflow_runs'),
    queries: [
      query(once('msgsvc_account_day_workflow_runs'), '{{account}} runs'),
      query(once('msgsvc_account_day_workflow_messages'), '{{account}} messages'),
    ],
  }),
]);

export const workflows = dashboard({
  uid: 'opsd-workflows',
  title: 'opsd: workflows and failure functions',
  description: 'Failed workflow runs: which ones are held and why, what expires, and whether more come than go.',
  variables: [
    {
      name: 'host',
      label: 'Host',
      description: 'Hosts that workflows run on.',
      of: 'msgsvc_messages_created_total',
      value: 'destination',
    },
    {
      name: 'workflow',
      label: 'Workflow',
      description: 'Workflows of which runs failed.',
      of: ENTERED,
      value: 'workflow',
    },
  ],
  rows: [now, holding, flow, lifetime],
});
