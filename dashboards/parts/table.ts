/** Tables: one row per label set, one column per query. */
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
  /** Expression, aggregated by the labels of the table. Additional labels become columns. */
  readonly expr: string;
  readonly unit: string;
  readonly decimals?: number;
  readonly steps?: Steps;
  readonly mappings?: readonly ValueMapping[];
}

export interface TablePanel extends PanelHead {
  /** Labels that form a row, with the titles of their columns. */
  readonly labels: Readonly<Record<string, string>>;
  readonly columns: readonly Column[];
  /** Sort column, in descending order. */
  readonly sortBy?: string;
  /** Text for a table without rows. */
  readonly noValue?: string;
  /** Links for a click on a label. `${__data.fields.TITLE}` is a field of the row. */
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

/** Text for an empty cell; otherwise the text for an empty table would appear in each cell. */
const EMPTY_CELL: DynamicConfigValue = { id: 'noValue', value: '–' };

/** Grafana names the value of a single query `Value`, and those of several queries `Value #A`. */
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
  if (type !== DashboardLinkType.Link || url === undefined) throw new Error(`${title} has no target`);
  return { title, url, targetBlank: false };
}
