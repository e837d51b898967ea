/** Labels of the series that rules can select: exposed by the daemon, and recorded. */
import { RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { readPromql } from './promql.ts';
import { labelsOfSeries } from './series-labels.ts';

const recorded = new Map(
  RECORDING_GROUPS.flatMap(({ rules }) => rules).map(({ record, expr, labels = {} }) => [
    record,
    [...readPromql(expr, labelsOfSeries).labels, ...Object.keys(labels)],
  ]),
);

export function labelsOfRules(series: string): readonly string[] | undefined {
  return recorded.get(series) ?? labelsOfSeries(series);
}
