/** Tables: one row for each set of labels, one column for each query. */
import { DashboardLinkType } from '@grafana/grafana-foundation-sdk/dashboard';
import type { DynamicConfigValue, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as tables from '@grafana/grafana-foundation-sdk/table';
import type { Steps } from './colours.ts';
import { absolute } from './colours.ts';
import { panelLink } from './links.ts';
import type { LinkTo } from './links.ts';
import { headed, placed } from './panels.ts';
import type { PanelHead, Placed } from './panels.ts';
import { refId, tableTarget } from './queries.ts';

interface Column {
  readonly title: string;
  /** Aggregated by the labels of the table, or with more labels of its own that become columns. */
  readonly expr: string;
  readonly unit: string;
  readonly decimals?: number;
  readonly steps?: Steps;
  readonly mappings?: readonly ValueMapping[];
}

export interface TablePanel extends PanelHead {
  /** Labels that make a row, with the titles of their columns. */
  readonly labels: Readonly<Record<string, string>>;
  readonly columns: readonly Column[];
  /** Sorted by this column, the greatest first. */
  readonly sortBy?: string;
  /** What stands where there are no rows. */
  readonly noValue?: string;
  /** A click on the named label leads on; `${__data.fields.TITLE}` is a field of the row. */
  readonly click?: Readonly<Record<string, LinkTo>>;
}

export function table(of: TablePanel): Placed {
  const builder = headed(new tables.PanelBuilder(), of)
    .unit('short')
    .noValue(of.noValue ?? 'no data')
    .targets(of.columns.map(({ expr }, index) => tableTarget({ expr, legend: '' }, index)))
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({ id: 'organize', options: organized(of) })
    .showHeader(true)
    .cellHeight(common.TableCellHeight.Sm)
    .filterable(true);
  for (const title of Object.values(of.labels)) builder.overrideByName(title, [EMPTY_CELL]);
  for (const column of of.columns) builder.overrideByName(column.title, [EMPTY_CELL, ...looks(column)]);
  for (const [label, link] of Object.entries(of.click ?? {})) {
    builder.overrideByName(of.labels[label] ?? label, [{ id: 'links', value: [clickable(link)] }]);
  }
  if (of.sortBy !== undefined) {
    builder.sortBy([new common.TableSortByFieldStateBuilder().displayName(of.sortBy).desc(true)]);
  }
  return placed(builder, of, 8);
}

/** What stands for a table without rows would else stand in each empty cell too. */
const EMPTY_CELL: DynamicConfigValue = { id: 'noValue', value: '–' };

/** Grafana calls the value of a lone query `Value`, and of several `Value #A`. */
function organized({ labels, columns }: TablePanel) {
  const valueOf = (index: number) => (columns.length === 1 ? 'Value' : `Value #${refId(index)}`);
  const names = [...Object.keys(labels), ...columns.map((_, index) => valueOf(index))];
  return {
    excludeByName: { Time: true },
    indexByName: Object.fromEntries(names.map((name, index) => [name, index])),
    renameByName: {
      ...labels,
      ...Object.fromEntries(columns.map(({ title }, index) => [valueOf(index), title])),
    },
  };
}

function looks({ unit, decimals, steps, mappings }: Column): DynamicConfigValue[] {
  const coloured = steps !== undefined || mappings !== undefined;
  return [
    { id: 'unit', value: unit },
    ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
    ...(steps === undefined ? [] : [{ id: 'thresholds', value: absolute(steps).build() }]),
    ...(mappings === undefined ? [] : [{ id: 'mappings', value: mappings }]),
    ...(coloured ? [{ id: 'custom.cellOptions', value: { type: 'color-text' } }] : []),
    ...(steps === undefined ? [] : [{ id: 'color', value: { mode: 'thresholds' } }]),
  ];
}

function clickable(link: LinkTo): { title: string; url: string; targetBlank: boolean } {
  const { title, url, type } = panelLink(link).build();
  if (type !== DashboardLinkType.Link || url === undefined) throw new Error(`${title} leads nowhere`);
  return { title, url, targetBlank: false };
}
