/** The part of the page about labels of which values fold into `other`: which, and by how much. Pure. */
import { formatCount } from '../api/format.ts';
import { html, type Html } from './html.ts';
import type { LabelView } from '../api/status-views.ts';
import { table } from './table.ts';

const SHOWN = 5;

/** @returns undefined when nothing folds: a full table is no news */
export function foldedLabels(labels: readonly LabelView[]): Html | undefined {
  const rows = labels
    .filter(({ foldedAmount, hidden }) => foldedAmount > 0 || hidden > 0)
    .toSorted((a, b) => b.foldedAmount - a.foldedAmount);
  if (rows.length === 0) return undefined;
  return html`<section aria-labelledby="labels">
    <h2 id="labels">Labels</h2>
    ${table<LabelView>({
      caption: html`Values that found no place are <code>other</code> in the metrics. Give the label more places with
        <code>max</code>, or these values none with <code>deny</code>, under <code>telemetry.metrics.labels</code>.`,
      rows,
      empty: '',
      columns: [
        { title: 'Label', cell: (row) => row.label },
        { title: 'Account', wide: true, cell: (row) => row.account },
        { title: 'Shown', align: 'number', cell: (row) => `${formatCount(row.shown)} of ${formatCount(row.max)}` },
        { title: 'Folded', align: 'number', cell: (row) => formatCount(row.foldedAmount) },
        { title: 'Largest', wide: true, cell: (row) => row.largestFolded.slice(0, SHOWN).map(largest) },
      ],
    })}
  </section>`;
}

/** At least so many: what may be another value's is left out. */
function largest({ value, count, over }: LabelView['largestFolded'][number]): Html {
  return html`<div><span class="id">${value}</span> ${formatCount(count - over)}</div>`;
}
