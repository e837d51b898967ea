/** Part of the page about labels whose values overflow into `other`. Pure. */
import { formatCount } from '../api/format.ts';
import { type Cell, idText, lines, number, section, table, wide } from '../show/cell.ts';
import { html } from '../show/html.ts';
import type { LabelView } from '../contract/status.ts';

const SHOWN = 5;

/** @returns undefined if no value overflows: a full table needs no attention */
export function overflowedLabels(labels: readonly LabelView[]): Cell {
  const rows = labels
    .filter(({ overflowAmount, hidden }) => overflowAmount > 0 || hidden > 0)
    .toSorted((a, b) => b.overflowAmount - a.overflowAmount);
  if (rows.length === 0) return undefined;
  return section(
    'labels',
    'Labels',
    table<LabelView>({
      caption: html`Values above the limit are <code>other</code> in the metrics. Raise the limit with <code>max</code>,
        or exclude values with <code>deny</code>, under <code>telemetry.metrics.labels</code>.`,
      rows,
      empty: '',
      columns: {
        Label: wide((row) => row.label),
        Account: wide((row) => row.account),
        Shown: number((row) => `${formatCount(row.shown)} of ${formatCount(row.max)}`),
        Overflow: number((row) => formatCount(row.overflowAmount)),
        Largest: wide((row) => lines(row.largestOverflow.slice(0, SHOWN).map(largest))),
      },
    }),
  );
}

/** Minimum count of a value: counts that may belong to other values are subtracted. */
function largest({ value, count, over }: LabelView['largestOverflow'][number]): Cell {
  return [idText(value), ` ${formatCount(count - over)}`];
}
