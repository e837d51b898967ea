/** The part of the page about what the log and the statistics say of the same hour: whether they agree. Pure. */
import { formatCount, formatTime, machineTime } from '../api/format.ts';
import { html, type Html } from './html.ts';
import type { ReconciliationView, SourceView } from '../api/status-views.ts';
import { table } from './table.ts';
import { reconciliationAnchor } from '../api/verdict.ts';

const HOUR_MS = 3_600_000;

/** @returns undefined when no statistics are read: there is nothing to compare the log with */
export function reconciliation(rows: readonly ReconciliationView[], sources: readonly SourceView[]): Html | undefined {
  const isRead = sources.some(({ collector, off }) => collector === 'accountStats' && off === undefined);
  if (rows.length === 0 && !isRead) return undefined;
  return html`<section aria-labelledby="reconciliation">
    <h2 id="reconciliation">Log and statistics</h2>
    ${table<ReconciliationView>({
      caption:
        'What both counted of the newest whole hour. They are read apart, so a gap shows what one of them lost; up to 10 messages or 2 % is rounding.',
      rows,
      rowId: reconciliationAnchor,
      empty:
        'Nothing can be compared yet. It takes a whole hour that log and statistics were both read for, and 20 minutes more for what comes late; where the log tells only the present state of messages, there is no comparison.',
      columns: [
        { title: 'State', cell: (row) => html`${row.state}<span class="sub">${row.account}</span>` },
        { title: 'Hour (UTC)', cell: hour },
        { title: 'Log', align: 'number', cell: (row) => formatCount(row.logs) },
        { title: 'Statistics', align: 'number', cell: (row) => formatCount(row.statistics) },
        { title: 'Difference', align: 'number', cell: difference },
        { title: 'Verdict', wide: true, cell: verdict },
      ],
    })}
  </section>`;
}

/** `2026-11-18 09:00–10:00` */
function hour({ hour: at }: ReconciliationView): Html {
  const text = `${formatTime(at).slice(0, 16)}–${formatTime(at + HOUR_MS).slice(11, 16)}`;
  return html`<time class="nowrap" datetime="${machineTime(at) ?? ''}">${text}</time>`;
}

/** Of the statistics from the log; as a share where there is something to take a share of. */
function difference({ logs, statistics }: ReconciliationView): string {
  const gap = statistics - logs;
  if (gap === 0) return '0';
  const sign = gap > 0 ? '+' : '−';
  const share = logs === 0 ? '' : ` (${sign}${((Math.abs(gap) / logs) * 100).toFixed(1)} %)`;
  return `${sign}${formatCount(Math.abs(gap))}${share}`;
}

function verdict({ agrees, isLasting }: ReconciliationView): Html {
  if (agrees) return html`<span class="state ok">they agree</span>`;
  if (!isLasting) {
    return html`<span class="state off">they differ</span
      ><span class="sub">The hour before does not show the same.</span>`;
  }
  return html`<span class="state attention">they differ</span
    ><span class="sub">In the hour before, too: one of them did not serve what happened.</span>`;
}
