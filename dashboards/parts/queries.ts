/** Queries of panels: over the time shown for what is drawn, of this moment for what is a number. */
import { DataqueryBuilder, PromQueryFormat, QueryEditorMode } from '@grafana/grafana-foundation-sdk/prometheus';
import { DATASOURCE } from './datasource.ts';

export interface Query {
  readonly expr: string;
  /** `{{label}}` of series; empty where the panel says it all. */
  readonly legend: string;
  readonly exemplar?: boolean;
}

export function query(expr: string, legend = '', more: Pick<Query, 'exemplar'> = {}): Query {
  return { expr, legend, ...more };
}

/** Letters of targets, in order. */
export function refId(index: number): string {
  return String.fromCodePoint('A'.codePointAt(0)! + index);
}

export function rangeTarget(of: Query, index: number): DataqueryBuilder {
  const target = base(of, index).range().format(PromQueryFormat.TimeSeries);
  return of.exemplar === true ? target.exemplar(true) : target;
}

/** A value of now or none at all: the last value of a range may be hours old. */
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
