/** Dashboard of failed workflow runs: size and age, expiry, arrivals and departures, and failure functions. */
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

/** Matches a workflow, which is a host and a path. */
const CHOSEN = 'workflow=~"($host)(/.*)?",workflow=~"$workflow"';
const RUNS = 'msgsvc_workflow_dlq_runs';
const AGED = 'msgsvc_workflow_dlq_aged_runs';
const EXPIRING = 'msgsvc_workflow_dlq_expiring_runs';
const FUNCTIONS = 'msgsvc_workflow_dlq_failure_function_runs';
const OLDEST = 'msgsvc_workflow_dlq_oldest_run_timestamp_seconds';
const ENTERED = 'msgsvc_workflow_dlq_entered_runs_total';
const LEFT = 'msgsvc_workflow_dlq_left_runs_total';
const LIFETIME = 'msgsvc_workflow_run_lifetime_seconds';
/** Age ranges, stacked in this order from the bottom. */
const AGES = [
  ['below_1h', 'below an hour'],
  ['1h_to_6h', '1 to 6 hours'],
  ['6h_to_1d', '6 hours to a day'],
  ['1d_to_7d', '1 to 7 days'],
  ['above_7d', 'above 7 days'],
  ['unknown', 'unknown'],
] as const;
const NO_RETENTION = 'no retention set';

/** The sum of the ages is the size of the DLQ. It is exported even if the DLQ is empty, so this 0 is certain. */
const truly0 = `0 * sum(${once(AGED, ['age'])})`;
const held = (by: readonly string[]): string =>
  `sum by (${by.join(', ')}) (${once(RUNS, ['workflow', 'reason'], CHOSEN)})`;
const expiring = (within: string): string => `sum(${once(EXPIRING, ['workflow'], `${CHOSEN},within="${within}"`)})`;

const now: Row = row('Now', [
  stat({
    title: 'Failed runs',
    description:
      'Runs in the workflow DLQ for the selected workflows, from the last complete listing and later arrivals. No value while the listing is incomplete.',
    unit: unitOf(RUNS),
    queries: [query(`sum(${once(RUNS, ['workflow', 'reason'], CHOSEN)}) or ${truly0}`)],
    steps: PLAIN,
    links: [linkTo('opsd-policies', 'What policies do about it')],
  }),
  stat({
    title: 'Oldest failed run',
    description:
      'Age of the oldest failed run of the selected workflows. Compare it with the retention of your plan, after which runs expire.',
    unit: 's',
    decimals: 1,
    queries: [query(`time() - min(${once(OLDEST, ['workflow'], CHOSEN)})`)],
    steps: rising({ warning: THRESHOLDS.workflows.oldestSeconds }),
    noValue: 'none, or not read',
  }),
  stat({
    title: 'Expiring within 24 h',
    description:
      'Runs that expire within 24 hours, based on limits.dlqRetention. Resume or archive them in time: expired runs are lost.',
    unit: unitOf(EXPIRING),
    queries: [
      query(`${expiring('24h')} or ${truly0} * on () max(${sel('msgsvc_account_limit_dlq_retention_seconds')})`),
    ],
    steps: rising({ critical: 1 }),
    noValue: NO_RETENTION,
  }),
  stat({
    title: 'Expiring within 72 h',
    description: 'Runs that expire within 72 hours, including those of the next 24 hours.',
    unit: unitOf(EXPIRING),
    queries: [
      query(`${expiring('72h')} or ${truly0} * on () max(${sel('msgsvc_account_limit_dlq_retention_seconds')})`),
    ],
    steps: rising({ warning: 1 }),
    noValue: NO_RETENTION,
  }),
  stat({
    title: 'Failed failure functions',
    description:
      'Failed runs whose failure function failed, too: no notification was sent and nothing was cleaned up. The runbook of the alert describes how to inspect one.',
    unit: unitOf(FUNCTIONS),
    queries: [query(`sum(${once(FUNCTIONS, ['workflow', 'state'], `${CHOSEN},state="CALLBACK_FAIL"`)}) or ${truly0}`)],
    steps: rising({ warning: 1 }),
  }),
  stat({
    title: 'Listing complete',
    description:
      'Shows if the last listing of the workflow DLQ was read completely. If not, panels about its content are withheld; arrivals and departures are not lost.',
    unit: unitOf('opsd_workflow_dlq_listing_complete'),
    queries: [query(`min(${sel('opsd_workflow_dlq_listing_complete')})`)],
    steps: rising({}),
    mappings: [words({ 0: ['not complete', 'red'], 1: ['complete', 'green'] })],
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
]);

const holding: Row = row(
  'Failing workflows and reasons',
  [
    table({
      title: 'Workflows',
      description:
        'Failed runs and their times are current; entered and left are for the time range. If the newest run is minutes old, the workflow is failing now. Click a name to select it.',
      labels: { workflow: 'Workflow' },
      columns: [
        { title: 'Failed runs', expr: held(['workflow']), unit: unitOf(RUNS) },
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
          title: 'Expiring in 72 h',
          expr: `sum by (workflow) (${once(EXPIRING, ['workflow'], `${CHOSEN},within="72h"`)})`,
          unit: unitOf(EXPIRING),
          steps: rising({ warning: 1 }),
        },
      ],
      sortBy: 'Failed runs',
      noValue: 'none, or not read',
      click: { workflow: linkTo('opsd-workflows', 'Only this workflow', { workflow: '${__data.fields.Workflow}' }) },
    }),
  ],
  [
    timeSeries({
      title: 'Failed runs by workflow',
      description: 'Failed runs of each workflow. A rising line: the workflow fails, and no one repairs it.',
      unit: unitOf(RUNS),
      stacked: true,
      queries: [query(held(['workflow']), '{{workflow}}')],
      click: [linkTo('opsd-workflows', 'Only ${__field.labels.workflow}', { workflow: '${__field.labels.workflow}' })],
    }),
    timeSeries({
      title: 'Failed runs by reason',
      description:
        'Reason of the failures: a response of the destination (http), or none (dns, tls, connection, timeout, no_response). Runs without a response are often worth a resume once the destination is up.',
      unit: unitOf(RUNS),
      stacked: true,
      queries: [query(held(['reason']), '{{reason}}')],
    }),
  ],
  [
    timeSeries({
      title: 'Failed runs by last status',
      description:
        'For all workflows. 4xx: a resume fails again until the workflow or its input is fixed. 5xx: a resume may succeed.',
      unit: unitOf('msgsvc_workflow_dlq_status_runs'),
      stacked: true,
      queries: [query(`sum by (code) (${once('msgsvc_workflow_dlq_status_runs', ['code'])})`, '{{code}}')],
    }),
    timeSeries({
      title: 'Failed runs by age',
      description: 'For all workflows, by time since the failure. Runs that move to older ranges are not handled.',
      unit: unitOf(AGED),
      stacked: true,
      queries: AGES.map(([age, name]) => query(`sum(${once(AGED, [], `age="${age}"`)})`, name)),
    }),
    timeSeries({
      title: 'Failed runs by flow-control key',
      description: 'For all workflows, the runs with a key. Many runs of one key: check its constraints.',
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
  'Arrivals and departures',
  [
    timeSeries({
      title: 'Entered and left per minute',
      description:
        'Runs that entered and left the DLQ per minute: resumed or deleted by this daemon, expired, other (removed by someone else), or unknown. Departures appear with the next complete listing, after at most 15 minutes.',
      unit: 'cpm',
      queries: [
        query(`60 * sum(${rate(ENTERED, CHOSEN)})`, 'entered'),
        query(`60 * sum by (cause) (${rate(LEFT, CHOSEN)})`, 'left: {{cause}}'),
      ],
      links: [linkTo('opsd-policies', 'Policies')],
    }),
    timeSeries({
      title: 'Entered per minute, by workflow and reason',
      description: 'Runs that finally failed. Runs from before the start of counting are not included.',
      unit: 'cpm',
      stacked: true,
      queries: [query(`60 * sum by (workflow, reason) (${rate(ENTERED, CHOSEN)})`, '{{workflow}} {{reason}}')],
      noValue: 'none known',
    }),
  ],
  [
    timeSeries({
      title: 'Expiring runs',
      description:
        'Runs that expire within 24 hours and within 72 hours, which includes 24 hours. Empty if limits.dlqRetention is not set.',
      unit: unitOf(EXPIRING),
      queries: [query(`sum by (within) (${once(EXPIRING, ['workflow', 'within'], CHOSEN)})`, 'within {{within}}')],
      noValue: NO_RETENTION,
    }),
    timeSeries({
      title: 'Failure functions of failed runs',
      description:
        'State of the failure functions; none if the workflow has none. CALLBACK_FAIL: it failed, too. CALLBACK_INPROGRESS for long: it hangs.',
      unit: unitOf(FUNCTIONS),
      stacked: true,
      queries: [query(`sum by (state) (${once(FUNCTIONS, ['workflow', 'state'], CHOSEN)})`, '{{state}}')],
    }),
  ],
);

const lifetime: Row = row('Lifetime', [
  heatmap({
    title: 'Lifetime of failed runs',
    description:
      'Time between the creation of a run and its failure, for all workflows. Bands show the step or timeout at which runs fail.',
    unit: 's',
    query: query(`sum by (le) (${perStep(`${LIFETIME}_bucket`)})`),
  }),
  timeSeries({
    title: 'Lifetime of failed runs, p50 and p95',
    description: '50 % and 95 % of the runs that entered failed within this time. A gap means none entered.',
    unit: 's',
    queries: [query(quantile(0.5, LIFETIME), 'p50'), query(quantile(0.95, LIFETIME), 'p95')],
    noValue: 'none known',
  }),
  timeSeries({
    title: 'Workflow runs and messages today',
    description:
      'Runs and messages of the current UTC day, from the statistics of the service. Starts at 0 at midnight UTC.',
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
  description: 'Failed workflow runs and reasons, expiry, arrivals and departures, and failure functions.',
  variables: [
    {
      name: 'host',
      label: 'Host',
      description: 'Hosts of workflows.',
      of: 'msgsvc_messages_created_total',
      value: 'destination',
    },
    {
      name: 'workflow',
      label: 'Workflow',
      description: 'Workflows with failed runs.',
      of: ENTERED,
      value: 'workflow',
    },
  ],
  rows: [now, holding, flow, lifetime],
});
