/** Queries of panels: over the time range for graphs, current for numbers. */
import { DataqueryBuilder, PromQueryFormat, QueryEditorMode } from '@grafana/grafana-foundation-sdk/prometheus';
import { DATASOURCE } from './datasource.ts';

export interface Query {
  readonly expr: string;
  /** `{{label}}` of series; empty if the panel title is sufficient. */
  readonly legend: string;
  readonly exemplar?: boolean;
}

export function query(expr: string, legend = '', more: Pick<Query, 'exemplar'> = {}): Query {
  return { expr, legend, ...more };
}

/** Returns the letter of a target, by index. */
export function refId(index: number): string {
  return String.fromCodePoint('A'.codePointAt(0)! + index);
}

export function rangeTarget(of: Query, index: number): DataqueryBuilder {
  const target = base(of, index).range().format(PromQueryFormat.TimeSeries);
  return of.exemplar === true ? target.exemplar(true) : target;
}

/** Returns a query for the current value or none. The last value of a range may be hours old. */
export function instantTarget(of: Query, index: number): DataqueryBuilder {
  return base(of, index).instant().format(PromQueryFormat.TimeSeries);
}

export function tableTarget(of: Query, index: number): DataqueryBuilder {
  return base(of, index).instant().format(PromQueryFormat.Table);
}

export function heatmapTarget(of: Query, index: number): DataqueryBuilder {
  return base(of, index).range().format(PromQueryFormat.Heatmap);
}

function base({ expr, legend }: Query, index: number): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(refId(index))
    .editorMode(QueryEditorMode.Code)
    .expr(expr)
    .legendFormat(legend);
}
