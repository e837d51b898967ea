/** Rules for a dashboard's rendered JSON, each with a name, in the manner of Grafana's own linter. */
import { LOOKS } from './dashboard-looks.ts';
import { readPromql } from './promql.ts';
import type { PromqlReading } from './promql.ts';
import { labelsOfSeries } from './series-labels.ts';
import { unitsOf } from './series-units.ts';

interface Target {
  readonly refId?: string;
  readonly expr?: string;
  readonly legendFormat?: string;
  readonly datasource?: { readonly uid?: string };
  readonly format?: string;
}

interface Link {
  readonly title?: string;
  readonly type?: string;
  readonly url?: string;
  readonly includeVars?: boolean;
  readonly keepTime?: boolean;
}

export interface PanelJson {
  readonly id?: number;
  readonly type: string;
  readonly pluginVersion?: string;
  readonly title?: string;
  readonly description?: string;
  readonly gridPos?: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly datasource?: { readonly uid?: string };
  readonly links?: readonly Link[];
  readonly transformations?: readonly { readonly id: string; readonly options?: unknown }[];
  readonly fieldConfig?: {
    readonly defaults?: {
      readonly unit?: string;
      readonly max?: number;
      readonly color?: { readonly mode?: string };
      readonly mappings?: readonly unknown[];
      readonly links?: readonly Link[];
    };
    readonly overrides?: readonly {
      readonly matcher?: { readonly options?: unknown };
      readonly properties: readonly { readonly id: string; readonly value?: unknown }[];
    }[];
  };
}

export interface DashboardJson {
  readonly uid?: string;
  readonly title?: string;
  readonly schemaVersion?: number;
  readonly panels?: readonly PanelJson[];
  readonly links?: readonly Link[];
  readonly templating?: {
    readonly list?: readonly {
      readonly name: string;
      readonly type: string;
      readonly query?: unknown;
      readonly datasource?: { readonly uid?: string };
      readonly allValue?: string;
      readonly multi?: boolean;
    }[];
  };
  readonly annotations?: {
    readonly list?: readonly {
      readonly name?: string;
      readonly expr?: string;
      readonly datasource?: { readonly uid?: string };
    }[];
  };
}

interface Context {
  readonly uids: readonly string[];
}

type Rule = (dashboard: DashboardJson, context: Context) => string[];

const DATASOURCE = '${datasource}';
const ORDER = ['datasource', 'account', 'job', 'instance'];
const MOST_PANELS = 25;

/** Panel types that all of Grafana 10 to 13 have. */
const TYPES = ['stat', 'timeseries', 'table', 'bargauge', 'heatmap', 'state-timeline', 'text', 'row'];

/** Windows that are not a rate's: the range of the view, and whole explicit ones. */
const STATED_WINDOWS = /^(\$__range|[0-9]+[hd]|[1-9][0-9]m)$/;

export const RULES: Readonly<Record<string, Rule>> = {
  'a panel has a title, and no other has it': (dashboard) => {
    const titles = (dashboard.panels ?? []).map(({ title = '' }) => title);
    return titles.flatMap((title, index) =>
      title.trim() === '' ? [`panel ${index} has none`] : titles.indexOf(title) < index ? [`${title}: twice`] : [],
    );
  },
  'a panel has a description': (dashboard) =>
    drawn(dashboard).flatMap(({ title, description = '' }) =>
      /^[A-Z0-9].{20,}\.$/s.test(description) ? [] : [`${title}: "${description}"`],
    ),
  'a panel has a unit': (dashboard) =>
    drawn(dashboard).flatMap(({ title, type, fieldConfig }) =>
      type === 'text' || (fieldConfig?.defaults?.unit ?? '') !== '' ? [] : [`${title}`],
    ),
  'units are those of the catalogue, where one metric decides': (dashboard) =>
    drawn(dashboard).flatMap((panel) =>
      (panel.targets ?? []).flatMap(({ refId = 'A', expr = '' }) => {
        const unit = unitOfTarget(panel, refId);
        const right = unitsOf(read(expr));
        return right === undefined || unit === '' || right.includes(unit)
          ? []
          : [`${panel.title} ${refId}: ${unit}, not ${right.join()}`];
      }),
    ),
  'the datasource is a variable everywhere': (dashboard) => [
    ...drawn(dashboard).flatMap(({ title, datasource, targets = [] }) =>
      [datasource, ...targets.map((target) => target.datasource)].some((each) => each?.uid !== DATASOURCE)
        ? [`${title}`]
        : [],
    ),
    ...(dashboard.templating?.list ?? []).flatMap(({ name, type, datasource }) =>
      type !== 'query' || datasource?.uid === DATASOURCE ? [] : [`variable ${name}`],
    ),
    ...(dashboard.annotations?.list ?? []).flatMap(({ name, datasource }) =>
      datasource?.uid === DATASOURCE ? [] : [`annotation ${name}`],
    ),
  ],
  'the first variables are the same in every dashboard': (dashboard) => {
    const names = (dashboard.templating?.list ?? []).map(({ name }) => name);
    return names.slice(0, ORDER.length).join() === ORDER.join() ? [] : [names.join()];
  },
  'all of a variable is .+': (dashboard) =>
    (dashboard.templating?.list ?? []).flatMap(({ name, type, allValue, multi }) =>
      type !== 'query' || (allValue === '.+' && multi === true) ? [] : [name],
    ),
  'queries parse, and take known series and labels': (dashboard) =>
    [...expressions(dashboard)].flatMap(({ where, reading }) =>
      reading.problems.map((problem) => `${where}: ${problem}`),
    ),
  'selectors heed account, job and instance': (dashboard) =>
    [...expressions(dashboard)].flatMap(({ where, reading }) =>
      // Alerts of the account, and those without an account.
      reading.selectors
        .filter(({ metric }) => !metric.startsWith('ALERTS'))
        .flatMap(({ metric, matchers }) =>
          ORDER.slice(1)
            .filter((label) => labelsOfSeries(metric)?.includes(label))
            .filter((label) => !matchers.some((m) => m.label === label && m.value === `$${label}`))
            .map((label) => `${where}: ${metric} without ${label}=~"$${label}"`),
        ),
    ),
  'variables of labels are matched as regular expressions': (dashboard) => {
    const multi = (dashboard.templating?.list ?? []).filter((variable) => variable.multi).map(({ name }) => `$${name}`);
    return [...expressions(dashboard)].flatMap(({ where, reading }) =>
      reading.selectors.flatMap(({ matchers }) =>
        matchers
          .filter(({ op, value }) => multi.includes(value) && op !== '=~')
          .map(({ label }) => `${where}: ${label}`),
      ),
    );
  },
  'a rate is over $__rate_interval': (dashboard) =>
    [...expressions(dashboard)].flatMap(({ where, reading }) =>
      reading.selectors.flatMap(({ metric, call, window = '' }) => {
        if (!['rate', 'irate', 'increase'].includes(call)) return [];
        // An increase would exceed the events of a step. A mark only shows that an event occurred.
        const isWhole = call !== 'increase' || where.startsWith('annotation ');
        if (window === '$__rate_interval' && isWhole) return [];
        if (call === 'increase' && STATED_WINDOWS.test(window)) return [];
        return [`${where}: ${call}(${metric}[${window}])`];
      }),
    ),
  'a legend names labels of the result': (dashboard) =>
    drawn(dashboard).flatMap(({ title, type, targets = [] }) =>
      targets.flatMap(({ expr = '', legendFormat = '' }) => {
        if (type === 'table') return [];
        const { labels } = read(expr);
        return [...legendFormat.matchAll(/\{\{\s*(\w+)\s*\}\}/g)]
          .map((match) => match[1]!)
          .filter((label) => !labels.has(label))
          .map((label) => `${title}: {{${label}}}`);
      }),
    ),
  'several queries of a panel have their own names': (dashboard) =>
    drawn(dashboard).flatMap(({ title, type, targets = [] }) => {
      const legends = targets.map(({ legendFormat = '' }) => legendFormat);
      if (type === 'table' || targets.length < 2) return [];
      return legends.some((legend, index) => legend === '' || legends.indexOf(legend) < index) ? [`${title}`] : [];
    }),
  'ids are unique': (dashboard) => {
    const ids = (dashboard.panels ?? []).map(({ id }) => id);
    return ids.flatMap((id, index) => (id === undefined || ids.indexOf(id) < index ? [`${id}`] : []));
  },
  'panels stand within 24 columns and apart': (dashboard) => {
    const panels = dashboard.panels ?? [];
    return panels.flatMap((panel, index) => {
      const at = panel.gridPos;
      if (at === undefined || at.x < 0 || at.w < 1 || at.h < 1 || at.x + at.w > 24) return [`${panel.title}: outside`];
      return panels
        .slice(0, index)
        .filter(
          ({ gridPos: o }) =>
            o !== undefined && at.x < o.x + o.w && o.x < at.x + at.w && at.y < o.y + o.h && o.y < at.y + at.h,
        )
        .map((other) => `${panel.title} over ${other.title}`);
    });
  },
  'an eye can take it in': (dashboard) => {
    const count = drawn(dashboard).length;
    return count <= MOST_PANELS ? [] : [`${count} panels`];
  },
  'panels are of types that Grafana 10 has': (dashboard) => [
    ...(dashboard.panels ?? [])
      .filter(({ type }) => !TYPES.includes(type))
      .map(({ title, type }) => `${title}: ${type}`),
    ...(dashboard.schemaVersion !== undefined && dashboard.schemaVersion <= 38
      ? []
      : [`schema ${dashboard.schemaVersion}`]),
  ],
  'a panel says for which Grafana it is, so that none of its options is taken for an old one': (dashboard) =>
    drawn(dashboard).flatMap(({ title, pluginVersion }) =>
      pluginVersion === '10.0.0' ? [] : [`${title}: ${pluginVersion}`],
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
export function lint(dashboard: DashboardJson, context: Context): string[] {
  return Object.entries(RULES).flatMap(([name, rule]) =>
    rule(dashboard, context).map((what) => `${dashboard.uid}: ${name}: ${what}`),
  );
}

function drawn(dashboard: DashboardJson): PanelJson[] {
  return (dashboard.panels ?? []).filter(({ type }) => type !== 'row');
}

function read(expr: string): PromqlReading {
  return readPromql(expr, labelsOfSeries);
}

/** Returns the unit of a query. In a table, the column of the query has the unit. */
function unitOfTarget({ type, targets = [], transformations = [], fieldConfig }: PanelJson, refId: string): string {
  const usual = fieldConfig?.defaults?.unit ?? '';
  if (type !== 'table') return usual;
  const organize = transformations.find(({ id }) => id === 'organize')?.options as
    | { readonly renameByName?: Readonly<Record<string, string>> }
    | undefined;
  const column = organize?.renameByName?.[targets.length === 1 ? 'Value' : `Value #${refId}`];
  const override = fieldConfig?.overrides?.find(({ matcher }) => matcher?.options === column);
  return (override?.properties.find(({ id }) => id === 'unit')?.value as string | undefined) ?? usual;
}

/** Yields every query: of panels, of annotations, and the selectors of variables. */
function* expressions(dashboard: DashboardJson): Generator<{ where: string; reading: PromqlReading }> {
  for (const { title, targets = [] } of drawn(dashboard)) {
    for (const { refId, expr = '' } of targets) yield { where: `${title} ${refId}`, reading: read(expr) };
  }
  for (const { name, expr = '' } of dashboard.annotations?.list ?? []) {
    yield { where: `annotation ${name}`, reading: read(expr) };
  }
  for (const { name, query } of dashboard.templating?.list ?? []) {
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

function* linksOf(dashboard: DashboardJson): Generator<Link> {
  yield* dashboard.links ?? [];
  for (const { links = [], fieldConfig } of drawn(dashboard)) {
    yield* links;
    yield* fieldConfig?.defaults?.links ?? [];
    for (const { id, value } of (fieldConfig?.overrides ?? []).flatMap(({ properties }) => properties)) {
      if (id === 'links') yield* value as Link[];
    }
  }
}
