/** Each rule of the linter finds its error: a valid dashboard, changed in one way. */
import { describe, expect, test } from 'vitest';
import { lint, RULES } from '../support/dashboard-lint.ts';
import type { Dashboard, Panel } from '../support/grafana/dashboard.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
const MATCHERS = 'account=~"$account",job=~"$job"';
const GOOD = `sum by (destination) (rate(msgsvc_message_attempts_total{${MATCHERS}}[$__rate_interval]))`;
const COUNT = { defaults: { unit: 'short' } };
const ATTEMPTS = `sum(increase(msgsvc_message_attempts_total{${MATCHERS}}[10m]))`;
const CARRIED = '${datasource:queryparam}&${account:queryparam}&${job:queryparam}&${instance:queryparam}';

function panel(more: Partial<Panel> & { readonly expr?: string; readonly legend?: string } = {}): Panel {
  const { expr = GOOD, legend = '{{destination}}', ...rest } = more;
  return {
    id: 1,
    type: 'timeseries',
    pluginVersion: '10.0.0',
    title: 'Attempts',
    description: 'Delivery attempts a second, by destination.',
    gridPos: { x: 0, y: 0, w: 12, h: 8 },
    datasource,
    targets: [{ refId: 'A', expr, legendFormat: legend, datasource }],
    fieldConfig: { defaults: { unit: 'mps' } },
    links: [{ title: 'DLQ', type: 'link', url: `/d/opsd-dlq?${CARRIED}&\${__url_time_range}` }],
    ...rest,
  };
}

function variable(name: string, query = `label_values(opsd_build_info, ${name})`) {
  return { name, type: 'query', datasource, query: { query }, allValue: '.+', multi: true };
}

const VARIABLES = [
  { name: 'datasource', type: 'datasource' },
  variable('account', 'label_values(opsd_collector_runs_total, account)'),
  variable('job'),
  variable('instance'),
];

function sample(more: Partial<Dashboard> = {}): Dashboard {
  return {
    uid: 'opsd-sample',
    title: 'Sample',
    schemaVersion: 38,
    templating: { list: VARIABLES },
    annotations: { list: [{ name: 'Actions', expr: GOOD, datasource }] },
    links: [{ title: 'All', type: 'dashboards', includeVars: true, keepTime: true }],
    panels: [panel()],
    ...more,
  };
}

const of = (...panels: Panel[]): Dashboard => sample({ panels });
/** A dashboard of one panel. */
const one = (more: Parameters<typeof panel>[0]): Dashboard => of(panel(more));
const withVariables = (...more: object[]): Dashboard =>
  sample({ templating: { list: [...VARIABLES, ...(more as typeof VARIABLES)] } });
const annotated = (annotation: object): Dashboard =>
  sample({ annotations: { list: [{ name: 'Actions', expr: GOOD, datasource, ...annotation }] } });
type Properties = readonly { readonly id: string; readonly value: unknown }[];

/** Fields in messages a second, with more settings, and overrides of one column or of all. */
const fields = (defaults: object, properties?: Properties, column?: string) => ({
  fieldConfig: {
    defaults: { unit: 'mps', ...defaults },
    ...(properties && { overrides: [{ matcher: column === undefined ? {} : { options: column }, properties }] }),
  },
});
/** A table whose column of values has a name. */
const table = (properties: Properties, names: object = {}): Dashboard =>
  one({
    type: 'table',
    transformations: [{ id: 'organize', options: { renameByName: { Value: 'Attempts', ...names } } }],
    ...fields({}, properties, 'Attempts'),
  });
const uids = ['opsd-sample', 'opsd-dlq'];

const UNKNOWN = { type: 'special', options: { match: 'null+nan', result: { color: 'text' } } };
const ENDLESS = { type: 'range', options: { from: 1e300, to: null, result: { text: 'unlimited' } } };

/** Samples that each rule must find. A rule without a sample fails the test below. */
const BAD: Readonly<Record<keyof typeof RULES, readonly Dashboard[]>> = {
  'a panel has a title, and no other has it': [
    one({ title: ' ' }),
    of(panel(), panel({ id: 2, gridPos: { x: 12, y: 0, w: 12, h: 8 } })),
  ],
  'a panel has a description': [one({ description: 'Attempts.' })],
  'a panel has a unit': [one({ fieldConfig: { defaults: {} } })],
  'units are those of the catalogue, where one metric decides': [
    one({ fieldConfig: { defaults: { unit: 'short' } } }),
    one({ expr: `msgsvc_account_day_bandwidth_bytes{${MATCHERS}}`, legend: '' }),
    of(panel({ expr: `time() - msgsvc_messages_oldest_due_timestamp_seconds{${MATCHERS}}`, legend: '' })),
    table([
      { id: 'unit', value: 's' },
      { id: 'noValue', value: '–' },
    ]),
  ],
  'the datasource is a variable everywhere': [
    one({ datasource: { uid: 'P1809' } }),
    one({ targets: [{ refId: 'A', expr: GOOD, legendFormat: '' }] }),
    annotated({ datasource: { uid: 'P1809' } }),
    withVariables({ ...variable('version', ''), datasource: { uid: 'P1809' } }),
  ],
  'the first variables are the same in every dashboard': [
    sample({ templating: { list: [VARIABLES[0]!, VARIABLES[2]!, VARIABLES[1]!, VARIABLES[3]!] } }),
  ],
  'all of a variable is .+': [withVariables({ ...variable('version', ''), allValue: '.*' })],
  'queries parse, and take known series and labels': [
    of(panel({ expr: 'sum(', legend: '' })),
    of(panel({ expr: GOOD.replace('attempts_total', 'tries_total') })),
    of(panel({ expr: GOOD.replace('by (destination)', 'by (target)'), legend: '' })),
    of(panel({ expr: GOOD.replace('job=~"$job"', 'job=~"$job",code="503"') })),
    annotated({ expr: 'nothing' }),
    withVariables(variable('key', `label_values(msgsvc_up{${MATCHERS}}, flow_control_key)`)),
  ],
  'selectors heed account and job, and the instance if they are about a process': [
    of(panel({ expr: GOOD.replace(',job=~"$job"', '') })),
    of(panel({ expr: GOOD.replace('account=~"$account",', '') })),
    of(panel({ expr: GOOD.replace('job=~"$job"', 'job=~"$job",instance=~"$instance"') })),
    one({
      expr: 'sum(rate(opsd_notification_requests_total{job=~"$job"}[$__rate_interval]))',
      legend: '',
      fieldConfig: { defaults: { unit: 'reqps' } },
    }),
    withVariables(variable('api', 'label_values(msgsvc_up, api)')),
  ],
  'variables of labels are matched as regular expressions': [
    of(panel({ expr: GOOD.replace('job=~', 'job=') })),
    of(panel({ expr: GOOD.replace('account=~', 'account!~') })),
    sample({
      templating: {
        list: [
          ...VARIABLES,
          variable('destination', `label_values(msgsvc_messages_created_total{${MATCHERS}}, destination)`),
        ],
      },
      panels: [panel({ expr: GOOD.replace('job=~', 'destination="$destination",job=~') })],
    }),
  ],
  'a rate is over $__rate_interval': [
    of(panel({ expr: GOOD.replace('$__rate_interval', '5m') })),
    of(panel({ expr: GOOD.replace('$__rate_interval', '24h') })),
    of(panel({ expr: GOOD.replace('rate(', 'increase(').replace('$__rate_interval', '90s'), fieldConfig: COUNT })),
    of(panel({ expr: GOOD.replace('rate(', 'increase('), fieldConfig: COUNT })),
  ],
  'a legend names labels of the result': [one({ legend: '{{code}}' }), one({ legend: '{{account}}' })],
  'several queries of a panel have their own names': [
    one({
      targets: ['A', 'B'].map((refId) => ({ refId, expr: GOOD, legendFormat: '{{destination}}', datasource })),
    }),
  ],
  'ids are unique': [of(panel(), panel({ title: 'More', gridPos: { x: 12, y: 0, w: 12, h: 8 } }))],
  'panels stand within 24 columns and apart': [
    one({ gridPos: { x: 13, y: 0, w: 12, h: 8 } }),
    of(panel(), panel({ id: 2, title: 'More', gridPos: { x: 11, y: 7, w: 12, h: 8 } })),
  ],
  'an eye can take it in': [
    of(
      ...Array.from({ length: 26 }, (_, id) =>
        panel({ id, title: `${id}`, gridPos: { x: 0, y: 8 * id, w: 12, h: 8 } }),
      ),
    ),
  ],
  'panels are of types that Grafana 10 has': [one({ type: 'graph' }), sample({ schemaVersion: 42 })],
  'a panel says for which Grafana it is, so that none of its options is taken for an old one': [
    one({ pluginVersion: '' }),
  ],
  'links lead to dashboards that exist, with variables and time': [
    one({ links: [{ title: 'DLQ', url: `/d/opsd-dead-letters?${CARRIED}&\${__url_time_range}` }] }),
    one({ links: [{ title: 'DLQ', url: `/d/opsd-dlq?${CARRIED}` }] }),
    one({ links: [{ title: 'DLQ', url: '/d/opsd-dlq?${__url_time_range}&${account:queryparam}' }] }),
    one({ fieldConfig: { defaults: { unit: 'mps', links: [{ title: 'DLQ', url: '/d/opsd-dlq' }] } } }),
    one(fields({}, [{ id: 'links', value: [{ title: 'DLQ', url: '/d/opsd-dlq' }] }])),
    sample({ links: [{ title: 'All', type: 'dashboards', includeVars: true }] }),
  ],
  'what is not known has no colour of a value': [
    one({ type: 'stat', expr: ATTEMPTS, legend: '', fieldConfig: COUNT }),
    one({
      type: 'bargauge',
      expr: ATTEMPTS,
      legend: '',
      fieldConfig: { defaults: { unit: 'short', mappings: [{ type: 'value', options: {} }] } },
    }),
  ],
  'a number of just now is of as long ago whatever is shown': [
    one({ type: 'stat', ...fields({ mappings: [UNKNOWN] }) }),
  ],
  'an empty cell is no empty table': [table([{ id: 'noValue', value: '–' }], { destination: 'To' })],
  'a range of a mapping has both ends': [
    one(fields({ mappings: [ENDLESS] })),
    one(fields({}, [{ id: 'mappings', value: [ENDLESS] }])),
  ],
  'states of a timeline are those of its mappings': [
    one({ type: 'state-timeline', ...fields({ color: { mode: 'thresholds' }, mappings: [UNKNOWN] }) }),
    one({ type: 'state-timeline', ...fields({ color: { mode: 'fixed' } }) }),
  ],
  'no line leaves its axis': [one(fields({ max: 1 }))],
};

describe('the linter of dashboards', () => {
  test('a valid dashboard breaks no rule', () => {
    expect(lint(sample(), { uids })).toEqual([]);
  });

  test('every rule has a bad sample', () => {
    expect(Object.keys(BAD)).toEqual(Object.keys(RULES));
  });

  const cases = Object.entries(BAD).flatMap(([name, bad]) =>
    bad.map((dashboard, index) => ({ name, index, dashboard })),
  );
  test.each(cases)('$name: sample $index breaks it, and no other rule', ({ name, dashboard }) => {
    const broken = lint(dashboard, { uids });
    expect(broken).not.toEqual([]);
    expect(broken.filter((line) => !line.startsWith(`opsd-sample: ${name}: `))).toEqual([]);
  });

  test.each([
    ['an increase over the time shown', GOOD.replace('rate(', 'increase(').replace('$__rate_interval', '$__range')],
    ['an increase over a stated day', GOOD.replace('rate(', 'increase(').replace('$__rate_interval', '24h')],
    [
      'a histogram by its buckets',
      `sum by (destination, le) (rate(msgsvc_message_delivery_duration_seconds_bucket{${MATCHERS}}[$__rate_interval]))`,
    ],
  ])('passes %s', (_what, expr) => {
    const fieldConfig = expr.includes('increase') ? COUNT : { defaults: { unit: 'cps' } };
    expect(lint(one({ expr, fieldConfig }), { uids })).toEqual([]);
  });
});
