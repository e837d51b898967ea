/** Part of the page about labels whose values overflow into `other`. Pure. */
import { formatCount } from '../api/format.ts';
import { html, type Html } from './html.ts';
import type { LabelView } from '../contract/status.ts';
import { table } from './table.ts';
import { idText } from './page-parts.ts';

const SHOWN = 5;

/** @returns undefined if no value overflows: a full table needs no attention */
export function overflowedLabels(labels: readonly LabelView[]): Html | undefined {
  const rows = labels
    .filter(({ overflowAmount, hidden }) => overflowAmount > 0 || hidden > 0)
    .toSorted((a, b) => b.overflowAmount - a.overflowAmount);
  if (rows.length === 0) return undefined;
  return html`<section aria-labelledby="labels">
    <h2 id="labels">Labels</h2>
    ${table<LabelView>({
      caption: html`Values above the limit are <code>other</code> in the metrics. Raise the limit with <code>max</code>,
        or exclude values with <code>deny</code>, under <code>telemetry.metrics.labels</code>.`,
      rows,
      empty: '',
      columns: [
        { title: 'Label', wide: true, cell: (row) => row.label },
        { title: 'Account', wide: true, cell: (row) => row.account },
        { title: 'Shown', align: 'number', cell: (row) => `${formatCount(row.shown)} of ${formatCount(row.max)}` },
        { title: 'Overflow', align: 'number', cell: (row) => formatCount(row.overflowAmount) },
        { title: 'Largest', wide: true, cell: (row) => row.largestOverflow.slice(0, SHOWN).map(largest) },
      ],
    })}
  </section>`;
}

/** Minimum count of a value: counts that may belong to other values are subtracted. */
function largest({ value, count, over }: LabelView['largestOverflow'][number]): Html {
  return html`<div>${idText(value)} ${formatCount(count - over)}</div>`;
}
