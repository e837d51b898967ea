/**
 * Panels as defined in a dashboard file: title, description, queries and unit. Everything else is the same in all
 * dashboards and defined here.
 */
import type { Panel, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import { FieldColorBuilder, FieldColorModeId } from '@grafana/grafana-foundation-sdk/dashboard';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as barGauges from '@grafana/grafana-foundation-sdk/bargauge';
import * as heatmaps from '@grafana/grafana-foundation-sdk/heatmap';
import * as stateTimelines from '@grafana/grafana-foundation-sdk/statetimeline';
import * as stats from '@grafana/grafana-foundation-sdk/stat';
import * as series from '@grafana/grafana-foundation-sdk/timeseries';
import { absolute, PLAIN, UNKNOWN } from './colours.ts';
import type { Steps } from './colours.ts';
import { DATASOURCE } from './datasource.ts';
import { panelLink } from './links.ts';
import type { LinkTo } from './links.ts';
import { heatmapTarget, instantTarget, rangeTarget } from './queries.ts';
import type { Query } from './queries.ts';

/**
 * Plugin version. Without it, Grafana treats a panel as one of version 6.1, and its migration loses thresholds and
 * units.
 */
const PLUGIN_VERSION = '10.0.0';

/** Panel with its size. Without a width, it shares its line with the others. */
export interface Placed {
  readonly panel: Panel;
  readonly width?: number;
  readonly height: number;
}

export interface PanelHead {
  readonly title: string;
  /** Content of the panel, its source, and what to do if the value is bad. */
  readonly description: string;
  /** Columns, of 24. */
  readonly width?: number;
  readonly height?: number;
  /** Links to the next steps. */
  readonly links?: readonly LinkTo[];
}

export interface ValuePanel extends PanelHead {
  readonly queries: readonly Query[];
  /** Grafana's unit name: `unitOf` or `rateUnitOf` if a single metric determines it. */
  readonly unit: string;
  readonly decimals?: number;
  readonly steps?: Steps;
  readonly mappings?: readonly ValueMapping[];
  /** Text for a missing value. It should say if that is good. */
  readonly noValue?: string;
  /** End of a bar or axis. An axis extends beyond it if values do. */
  readonly max?: number;
}

export interface StatPanel extends ValuePanel {
  /** Thresholds of single results by their legend, which replace those of the panel. */
  readonly stepsOf?: Readonly<Record<string, Steps>>;
  /** True to show the names of series beside their values, for queries with several results. */
  readonly names?: boolean;
}

export interface SeriesPanel extends ValuePanel {
  readonly stacked?: boolean;
  /** True for bars, used for increases per step. */
  readonly bars?: boolean;
  /** True to draw the thresholds as lines. */
  readonly limits?: boolean;
  /** True for an axis without a floor at 0, for values around 1 or below 0. */
  readonly free?: boolean;
  /** Minimum step for data that the service reports per minute. Below it, a rate is a sawtooth. */
  readonly interval?: string;
  /** Links for a click on a series. */
  readonly click?: readonly LinkTo[];
}

/** Common methods of all builders of the SDK. */
interface AnyBuilder {
  title(title: string): this;
  description(description: string): this;
  datasource(ref: typeof DATASOURCE): this;
  links(links: ReturnType<typeof panelLink>[]): this;
  build(): Panel;
}

interface AnyValueBuilder extends AnyBuilder {
  unit(unit: string): this;
  decimals(decimals: number): this;
  mappings(mappings: ValueMapping[]): this;
  noValue(text: string): this;
  thresholds(steps: ReturnType<typeof absolute>): this;
}

export function headed<B extends AnyBuilder>(builder: B, { title, description, links = [] }: PanelHead): B {
  return builder
    .title(title)
    .description(description)
    .datasource(DATASOURCE)
    .links(links.map((link) => panelLink(link)));
}

/** Omits `width` if it is undefined, because an undefined option would count as set. */
export function placed(builder: AnyBuilder, { width, height }: PanelHead, usual: number): Placed {
  return {
    panel: { ...builder.build(), pluginVersion: PLUGIN_VERSION },
    height: height ?? usual,
    ...(width === undefined ? {} : { width }),
  };
}

function valued<B extends AnyValueBuilder>(builder: B, of: ValuePanel): B {
  headed(builder, of)
    .unit(of.unit)
    .thresholds(absolute(of.steps ?? PLAIN));
  if (of.decimals !== undefined) builder.decimals(of.decimals);
  if (of.mappings !== undefined) builder.mappings([...of.mappings]);
  return builder.noValue(of.noValue ?? 'no data');
}

function byThreshold(): FieldColorBuilder {
  return new FieldColorBuilder().mode(FieldColorModeId.Thresholds);
}

function lastValue(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields('').values(false);
}

/** Current number. It is empty while its gauge is withheld, instead of showing the last value. */
export function stat(of: StatPanel): Placed {
  const builder = valued(new stats.PanelBuilder(), of)
    .targets(of.queries.map(instantTarget))
    .mappings([...(of.mappings ?? []), UNKNOWN])
    .colorScheme(byThreshold())
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.None)
    .justifyMode(common.BigValueJustifyMode.Auto)
    .textMode(of.names === true ? common.BigValueTextMode.ValueAndName : common.BigValueTextMode.Value)
    .orientation(common.VizOrientation.Auto)
    .reduceOptions(lastValue());
  for (const [legend, steps] of Object.entries(of.stepsOf ?? {})) {
    builder.overrideByName(legend, [{ id: 'thresholds', value: absolute(steps).build() }]);
  }
  return placed(builder, of, 4);
}

/** Current values side by side. Set `max` if the whole is known. */
export function barGauge(of: ValuePanel): Placed {
  const builder = valued(new barGauges.PanelBuilder(), of)
    .targets(of.queries.map(instantTarget))
    .mappings([...(of.mappings ?? []), UNKNOWN])
    .colorScheme(byThreshold())
    .displayMode(common.BarGaugeDisplayMode.Basic)
    .valueMode(common.BarGaugeValueMode.Text)
    // Names are long: Grafana 10.3 and later place them above.
    .namePlacement(common.BarGaugeNamePlacement.Top)
    .orientation(common.VizOrientation.Horizontal)
    .showUnfilled(true)
    .minVizHeight(16)
    .min(0)
    .reduceOptions(lastValue());
  if (of.max !== undefined) builder.max(of.max);
  return placed(builder, of, 8);
}

/** Lines over time. Gaps stay gaps. */
export function timeSeries(of: SeriesPanel): Placed {
  const builder = valued(new series.PanelBuilder(), of)
    .targets(of.queries.map(rangeTarget))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassicByName))
    .drawStyle(of.bars === true ? common.GraphDrawStyle.Bars : common.GraphDrawStyle.Line)
    .lineWidth(1)
    .fillOpacity(of.bars === true ? 60 : of.stacked === true ? 25 : 8)
    .showPoints(common.VisibilityMode.Auto)
    .pointSize(4)
    .spanNulls(false)
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .calcs([]),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    );
  if (of.free !== true) builder.min(0);
  if (of.max !== undefined) builder.axisSoftMax(of.max);
  if (of.stacked === true)
    builder.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group('A'));
  if (of.limits === true) {
    builder.thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed),
    );
  }
  if (of.interval !== undefined) builder.interval(of.interval);
  if (of.click !== undefined) builder.dataLinks(of.click.map((link) => panelLink(link)));
  return placed(builder, of, 8);
}

/** Heatmap of a histogram over time by `le`: observations of each bucket per step. */
export function heatmap(of: PanelHead & { readonly query: Query; readonly unit: string }): Placed {
  const builder = headed(new heatmaps.PanelBuilder(), of)
    .unit('short')
    .targets([heatmapTarget({ ...of.query, legend: '{{le}}' }, 0)])
    .calculate(false)
    .color(
      new heatmaps.HeatmapColorOptionsBuilder()
        .mode(heatmaps.HeatmapColorMode.Scheme)
        .scheme('Oranges')
        .exponent(0.5)
        .steps(64),
    )
    .cellGap(1)
    .filterValues(new heatmaps.FilterValueRangeBuilder().le(1e-9))
    .yAxis(new heatmaps.YAxisConfigBuilder().unit(of.unit).axisPlacement(common.AxisPlacement.Left))
    .showYHistogram();
  return placed(builder, of, 8);
}

/**
 * States over time, one row each. `words` must cover all values. With thresholds, Grafana would ignore the texts and
 * draw every state like the lowest threshold.
 */
export function stateTimeline(of: ValuePanel): Placed {
  const builder = valued(new stateTimelines.PanelBuilder(), of)
    .targets(of.queries.map(rangeTarget))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Fixed).fixedColor('text'))
    .showValue(common.VisibilityMode.Never)
    .mergeValues(true)
    .rowHeight(0.8)
    .fillOpacity(70)
    .lineWidth(0)
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom),
    );
  return placed(builder, of, 6);
}
