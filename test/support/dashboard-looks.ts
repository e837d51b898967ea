/** Rules about Grafana's interpretation of a panel's JSON, which can differ from its appearance. */
import type { Dashboard, Mapping, Panel } from './grafana/dashboard.ts';

type Rule = (dashboard: Dashboard) => string[];

export const LOOKS: Readonly<Record<string, Rule>> = {
  // Otherwise it has the color of the lowest value: "lasts, or not known" would be red.
  'what is not known has no colour of a value': perPanel(['stat', 'bargauge'], (panel) =>
    mappingsOf(panel).some(({ type, options }) => type === 'special' && options['match'] === 'null+nan')
      ? []
      : ['no mapping'],
  ),
  // $__rate_interval is minutes in a view of an hour, and hours in a view of a month.
  'a number of just now is of as long ago whatever is shown': perPanel(['stat', 'bargauge'], ({ targets = [] }) =>
    targets.filter(({ expr = '' }) => /\$__(rate_)?interval/.test(expr)).map(({ refId }) => refId),
  ),
  // The text for a table without rows also appears in each empty cell.
  'an empty cell is no empty table': perPanel(['table'], ({ transformations = [], fieldConfig }) => {
    const own = (title: string): boolean =>
      (fieldConfig?.overrides ?? []).some(
        ({ matcher, properties }) => matcher.options === title && properties.some(({ id }) => id === 'noValue'),
      );
    return Object.values(organized(transformations)).filter((title) => !own(title));
  }),
  // Grafana reads a null end as 0.
  'a range of a mapping has both ends': perPanel(undefined, (panel) =>
    mappingsOf(panel)
      .filter(({ type, options }) => type === 'range' && (options['from'] == null || options['to'] == null))
      .map(({ options }) => JSON.stringify(options)),
  ),
  // If equal states are merged, colors by thresholds turn the thresholds into states, and mappings are ignored.
  'states of a timeline are those of its mappings': perPanel(['state-timeline'], ({ fieldConfig }) => {
    const { color, mappings = [] } = fieldConfig?.defaults ?? {};
    return color?.mode === 'fixed' && mappings.length > 0 ? [] : [`${color?.mode}, ${mappings.length} mappings`];
  }),
  // A hard end cuts the line. Values above 100 % matter most and must be visible.
  'no line leaves its axis': perPanel(['timeseries'], ({ fieldConfig }) =>
    fieldConfig?.defaults?.max === undefined ? [] : [`max ${fieldConfig.defaults.max}`],
  ),
};

/** Returns a rule for panels of these types, or of all. Rows are not panels. */
export function perPanel(types: readonly string[] | undefined, check: (panel: Panel) => readonly string[]): Rule {
  return ({ panels }) =>
    panels
      .filter(({ type }) => type !== 'row' && (types?.includes(type) ?? true))
      .flatMap((panel) => check(panel).map((what) => `${panel.title}: ${what}`));
}

/** Returns the titles of a table's columns. */
export function organized(transformations: NonNullable<Panel['transformations']>): Readonly<Record<string, string>> {
  const organize = transformations.find(({ id }) => id === 'organize')?.options;
  return (organize?.['renameByName'] ?? {}) as Readonly<Record<string, string>>;
}

function mappingsOf({ fieldConfig }: Panel): readonly Mapping[] {
  const properties = (fieldConfig?.overrides ?? []).flatMap((override) => override.properties);
  const own = properties.flatMap(({ id, value }) => (id === 'mappings' ? (value as Mapping[]) : []));
  return [...(fieldConfig?.defaults?.mappings ?? []), ...own];
}
