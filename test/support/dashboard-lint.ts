/** Rules for a dashboard's rendered JSON, each with a name, in the manner of Grafana's own linter. */
import { LOOKS, organized, perPanel } from './dashboard-looks.ts';
import type { Dashboard, Link, Panel } from './grafana/dashboard.ts';
import { readPromql, type PromqlReading } from './promql.ts';
import { labelsOfRules } from './rule-labels.ts';
import { unitsOf } from './series-units.ts';

interface Context {
  readonly uids: readonly string[];
}

type Rule = (dashboard: Dashboard, context: Context) => string[];

const DATASOURCE = '${datasource}';
const ORDER = ['datasource', 'account', 'job', 'instance'];
const MOST_PANELS = 25;

/** Panel types that all of Grafana 10 to 13 have. */
const TYPES = ['stat', 'timeseries', 'table', 'bargauge', 'heatmap', 'state-timeline', 'text', 'row'];

/** Windows that are not a rate's: the range of the view, and whole explicit ones. */
const STATED_WINDOWS = /^(\$__range|[0-9]+[hd]|[1-9][0-9]m)$/;

export const RULES: Readonly<Record<string, Rule>> = {
  'a panel has a title, and no other has it': (dashboard) => {
    const titles = dashboard.panels.map(({ title = '' }) => title);
    return titles.flatMap((title, index) =>
      title.trim() === '' ? [`panel ${index} has none`] : titles.indexOf(title) < index ? [`${title}: twice`] : [],
    );
  },
  'a panel has a description': perPanel(undefined, ({ description = '' }) =>
    /^[A-Z0-9].{20,}\.$/s.test(description) ? [] : [`"${description}"`],
  ),
  'a panel has a unit': perPanel(undefined, ({ type, fieldConfig }) =>
    type === 'text' || fieldConfig?.defaults?.unit ? [] : ['none'],
  ),
  'units are those of the catalogue, where one metric decides': perPanel(undefined, (panel) =>
    (panel.targets ?? []).flatMap(({ refId, expr = '' }) => {
      const unit = unitOfTarget(panel, refId);
      const right = unitsOf(read(expr)) ?? [unit];
      return unit === '' || right.includes(unit) ? [] : [`${refId}: ${unit}, not ${right.join()}`];
    }),
  ),
  'the datasource is a variable everywhere': (dashboard) =>
    [
      ...drawn(dashboard).flatMap((panel) => [panel, ...(panel.targets ?? [])]),
      ...dashboard.templating.list.filter(({ type }) => type === 'query'),
      ...dashboard.annotations.list,
    ].flatMap((user) => (user.datasource?.uid === DATASOURCE ? [] : [JSON.stringify(user)])),
  'the first variables are the same in every dashboard': (dashboard) => {
    const names = dashboard.templating.list.map(({ name }) => name);
    return names.slice(0, ORDER.length).join() === ORDER.join() ? [] : [names.join()];
  },
  'all of a variable is .+': (dashboard) =>
    dashboard.templating.list.flatMap(({ name, type, allValue, multi }) =>
      type !== 'query' || (allValue === '.+' && multi === true) ? [] : [name],
    ),
  'queries parse, and take known series and labels': perQuery(({ problems }) => problems),
  'selectors heed account and job, and the instance if they are about a process': perQuery(({ selectors }) =>
    // Alerts of the account, and those without an account.
    selectors
      .filter(({ metric }) => !metric.startsWith('ALERTS'))
      .flatMap(({ metric, matchers }) => {
        const labels = labelsOfRules(metric);
        if (labels === undefined) return [];
        return ORDER.slice(1).flatMap((label) => {
          const isChosen = matchers.some((m) => m.label === label && m.value === `$${label}`);
          // An account moves between replicas, so a chosen replica must not hide it.
          const isWanted = labels.includes(label) && !(label === 'instance' && labels.includes('account'));
          if (isChosen === isWanted) return [];
          return [`${metric} ${isChosen ? 'with' : 'without'} ${label}=~"$${label}"`];
        });
      }),
  ),
  'variables of labels are matched as regular expressions': perQuery(({ selectors }, _where, { templating }) => {
    const multi = templating.list.filter((variable) => variable.multi).map(({ name }) => `$${name}`);
    const matchers = selectors.flatMap((selector) => selector.matchers);
    return matchers.filter(({ op, value }) => multi.includes(value) && op !== '=~').map(({ label }) => label);
  }),
  'a rate is over $__rate_interval': perQuery(({ selectors }, where) =>
    selectors.flatMap(({ metric, call, window = '' }) => {
      if (!['rate', 'irate', 'increase'].includes(call)) return [];
      // An increase would exceed the events of a step. A mark only shows that an event occurred.
      const isWhole = call !== 'increase' || where.startsWith('annotation ');
      if (window === '$__rate_interval' && isWhole) return [];
      if (call === 'increase' && STATED_WINDOWS.test(window)) return [];
      return [`${call}(${metric}[${window}])`];
    }),
  ),
  'a legend names labels of the result': perPanel(undefined, ({ type, targets = [] }) =>
    targets.flatMap(({ expr = '', legendFormat = '' }) => {
      if (type === 'table') return [];
      const { labels } = read(expr);
      return [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)]
        .map(([, label]) => label!)
        .filter((label) => !labels.has(label));
    }),
  ),
  'several queries of a panel have their own names': perPanel(undefined, ({ type, targets = [] }) => {
    const legends = targets.map(({ legendFormat = '' }) => legendFormat);
    if (type === 'table' || targets.length < 2) return [];
    return legends.filter((legend, index) => legend === '' || legends.indexOf(legend) < index);
  }),
  'ids are unique': (dashboard) => {
    const ids = dashboard.panels.map(({ id }) => id);
    return ids.filter((id, index) => id === undefined || ids.indexOf(id) < index).map(String);
  },
  'panels stand within 24 columns and apart': (dashboard) => {
    const { panels } = dashboard;
    return panels.flatMap(({ title, gridPos: at }, index) => {
      if (at === undefined || at.x < 0 || at.w < 1 || at.h < 1 || at.x + at.w > 24) return [`${title}: outside`];
      return panels
        .slice(0, index)
        .filter(({ gridPos: o }) => at.x < o.x + o.w && o.x < at.x + at.w && at.y < o.y + o.h && o.y < at.y + at.h)
        .map((other) => `${title} over ${other.title}`);
    });
  },
  'an eye can take it in': (dashboard) => {
    const count = drawn(dashboard).length;
    return count <= MOST_PANELS ? [] : [`${count} panels`];
  },
  'panels are of types that Grafana 10 has': (dashboard) => [
    ...dashboard.panels.filter(({ type }) => !TYPES.includes(type)).map(({ title, type }) => `${title}: ${type}`),
    ...((dashboard.schemaVersion ?? Infinity) <= 38 ? [] : [`schema ${dashboard.schemaVersion}`]),
  ],
  'a panel says for which Grafana it is, so that none of its options is taken for an old one': perPanel(
    undefined,
    ({ pluginVersion }) => (pluginVersion === '10.0.0' ? [] : [`${pluginVersion}`]),
  ),
  'links lead to dashboards that exist, with variables and time': (dashboard, { uids }) =>
    [...linksOf(dashboard)].flatMap(({ title = '', type, url = '', includeVars, keepTime }) => {
      if (type === 'dashboards') return includeVars === true && keepTime === true ? [] : [title];
      const uid = /^\/d\/([\w-]+)(?:\?|$)/.exec(url)?.[1] ?? '';
      if (!uids.includes(uid)) return [`${title}: no dashboard ${uid} (${url})`];
      const carried = ORDER.filter((name) => !url.includes(`\${${name}:queryparam}`) && !url.includes(`var-${name}=`));
      const carries = includeVars === true && keepTime === true;
      if (carries || (carried.length === 0 && url.includes('${__url_time_range}'))) return [];
      return [`${title}: without ${[...carried, '${__url_time_range}'].join()}`];
    }),
  ...LOOKS,
};

/** Returns the violations of a dashboard, one line each. */
export function lint(dashboard: Dashboard, context: Context): string[] {
  return Object.entries(RULES).flatMap(([name, rule]) =>
    rule(dashboard, context).map((what) => `${dashboard.uid}: ${name}: ${what}`),
  );
}

/** Returns a rule for every query: of panels, of annotations, and the selectors of variables. */
function perQuery(check: (reading: PromqlReading, where: string, dashboard: Dashboard) => readonly string[]): Rule {
  return (dashboard) =>
    [...expressions(dashboard)].flatMap(({ where, reading }) =>
      check(reading, where, dashboard).map((what) => `${where}: ${what}`),
    );
}

function drawn(dashboard: Dashboard): Panel[] {
  return dashboard.panels.filter(({ type }) => type !== 'row');
}

function read(expr: string): PromqlReading {
  return readPromql(expr, labelsOfRules);
}

/** Returns the unit of a query. In a table, the column of the query has the unit. */
function unitOfTarget({ type, targets = [], transformations = [], fieldConfig }: Panel, refId: string): string {
  const usual = fieldConfig?.defaults?.unit ?? '';
  if (type !== 'table') return usual;
  const column = organized(transformations)[targets.length === 1 ? 'Value' : `Value #${refId}`];
  const override = fieldConfig?.overrides?.find(({ matcher }) => matcher.options === column);
  return (override?.properties.find(({ id }) => id === 'unit')?.value as string | undefined) ?? usual;
}

function* expressions(dashboard: Dashboard): Generator<{ where: string; reading: PromqlReading }> {
  for (const { title, targets = [] } of drawn(dashboard)) {
    for (const { refId, expr = '' } of targets) yield { where: `${title} ${refId}`, reading: read(expr) };
  }
  for (const { name, expr = '' } of dashboard.annotations.list) {
    yield { where: `annotation ${name}`, reading: read(expr) };
  }
  for (const { name, query } of dashboard.templating.list) {
    const values = /^label_values\((.+), (\w+)\)$/.exec((query as { query?: string } | undefined)?.query ?? '');
    if (values === null) continue;
    const reading = read(values[1]!);
    // Selectors use the variables of the top. The variables' own queries take every series.
    const selectors = ORDER.includes(name) ? [] : reading.selectors;
    const unknown = reading.labels.has(values[2]!) ? [] : [`no label ${values[2]}`];
    const problems = [...reading.problems, ...unknown];
    yield { where: `variable ${name}`, reading: { ...reading, selectors, problems } };
  }
}

function* linksOf(dashboard: Dashboard): Generator<Link> {
  yield* dashboard.links ?? [];
  for (const { links = [], fieldConfig } of drawn(dashboard)) {
    yield* links;
    yield* fieldConfig?.defaults?.links ?? [];
    for (const { id, value } of (fieldConfig?.overrides ?? []).flatMap(({ properties }) => properties)) {
      if (id === 'links') yield* value as Link[];
    }
  }
}
