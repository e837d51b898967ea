/** Annotations on every panel: actions and events of the daemon. */
import type { AnnotationQuery } from '@grafana/grafana-foundation-sdk/dashboard';
import { AnnotationQueryBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE } from './datasource.ts';
import { increase, most, sel } from './selectors.ts';

interface Mark {
  readonly name: string;
  readonly color: string;
  readonly expr: string;
  /** Title with `{{label}}`. */
  readonly title: string;
  readonly text: string;
  readonly tags: string;
}

const START = sel('process_start_time_seconds');

const MARKS: readonly Mark[] = [
  {
    name: 'Actions',
    color: 'blue',
    expr: `sum by (account, policy, action) (${increase('opsd_action_items_total', 'action!="budget.raise"', '$__rate_interval')}) > 0`,
    title: '{{policy}} acts: {{action}}',
    text: 'On account {{account}}.',
    tags: 'policy,action',
  },
  {
    name: 'Deploys',
    color: 'light-blue',
    // The value is the time of the deploy: a mark at the points that follow it.
    expr: `max by (account, of, version) (${most('opsd_deploy_timestamp_seconds', '$__interval')}) > time() - 120`,
    title: '{{version}} deployed',
    text: '{{of}}, account {{account}}.',
    tags: 'version,of',
  },
  {
    name: 'Budget raises',
    color: 'green',
    expr: `sum by (account, policy) (${increase('opsd_action_items_total', 'action="budget.raise"', '$__rate_interval')}) > 0`,
    title: '{{policy}} raised the budget',
    text: 'Of account {{account}}.',
    tags: 'policy',
  },
  {
    name: 'Halted groups',
    color: 'orange',
    expr: `max by (account, policy, group) (${most('opsd_breaker_state', '$__interval')}) == 2`,
    title: '{{policy}} halted in {{group}}',
    text: 'Too many resumed runs failed again. Account {{account}}.',
    tags: 'policy,group',
  },
  {
    name: 'Pauses',
    color: 'purple',
    expr: `max by (scope) (${most('opsd_paused', '$__interval')}) == 1`,
    title: 'Paused: {{scope}}',
    text: 'No actions until the pause is lifted.',
    tags: 'scope',
  },
  {
    name: 'Reloads',
    color: 'yellow',
    expr: `changes(${sel('opsd_config_last_reload_success_timestamp_seconds')}[$__rate_interval]) > 0`,
    title: 'Configuration loaded',
    text: '{{instance}}',
    tags: 'instance',
  },
  {
    // A new pod is a new series, which never changes. It is detected as a series that did not exist before and has a
    // recent start.
    name: 'Restarts',
    color: 'red',
    expr: `changes(${START}[$__rate_interval]) > 0 or (${START} unless ${START} offset $__rate_interval) > time() - 900`,
    title: 'Daemon started',
    text: '{{instance}}',
    tags: 'instance',
  },
];

export function annotations(): AnnotationQuery[] {
  return MARKS.map(({ name, color, expr, title, text, tags }) => ({
    ...new AnnotationQueryBuilder().name(name).datasource(DATASOURCE).enable(true).iconColor(color).expr(expr).build(),
    target: { expr, refId: 'Anno', range: true, instant: false, interval: '60s', legendFormat: '' },
    step: '60s',
    titleFormat: title,
    textFormat: text,
    tagKeys: tags,
  })) as unknown as AnnotationQuery[];
}
