/** Part of the page that compares the counts of log and statistics for the same hour. Pure. */
import { formatCount, formatTime, machineTime } from '../api/format.ts';
import { reconciliationAnchor } from '../api/verdict.ts';
import { type Cell, number, section, state, sub, table, wide } from '../show/cell.ts';
import { html } from '../show/html.ts';
import type { ReconciliationView, SourceView } from '../contract/status.ts';

const HOUR_MS = 3_600_000;

/** @returns undefined if no statistics are read: there is nothing to compare */
export function reconciliation(rows: readonly ReconciliationView[], sources: readonly SourceView[]): Cell {
  const isRead = sources.some(({ collector, off }) => collector === 'accountStats' && off === undefined);
  if (rows.length === 0 && !isRead) return undefined;
  return section(
    'reconciliation',
    'Log and statistics',
    table<ReconciliationView>({
      caption:
        'Counts of log and statistics for the newest whole hour. They are read independently, so a difference shows a loss in one of them. Differences up to 10 messages or 2 % are rounding.',
      rows,
      rowId: reconciliationAnchor,
      empty:
        'No comparison yet. It needs a whole hour of both log and statistics, and 20 more minutes for late entries. If the log has only the current state of messages, there is no comparison.',
      columns: {
        State: (row) => [row.state, sub(row.account)],
        'Hour (UTC)': hour,
        Log: number((row) => formatCount(row.logs)),
        Statistics: number((row) => formatCount(row.statistics)),
        Difference: number(difference),
        Verdict: wide(verdict),
      },
    }),
  );
}

/** `2026-11-18 09:00–10:00`, which the script leaves as it is. */
function hour({ hour: at }: ReconciliationView): Cell {
  const text = `${formatTime(at).slice(0, 16)}–${formatTime(at + HOUR_MS).slice(11, 16)}`;
  return html`<time class="nowrap" datetime="${machineTime(at) ?? ''}" data-utc>${text}</time>`;
}

/** Difference of the statistics from the log, with its share of the log's count unless that is 0. */
function difference({ logs, statistics }: ReconciliationView): string {
  const gap = statistics - logs;
  if (gap === 0) return '0';
  const sign = gap > 0 ? '+' : '−';
  const share = logs === 0 ? '' : ` (${sign}${((Math.abs(gap) / logs) * 100).toFixed(1)} %)`;
  return `${sign}${formatCount(Math.abs(gap))}${share}`;
}

function verdict({ agrees, isLasting }: ReconciliationView): Cell {
  if (agrees) return state('ok', 'they agree');
  return isLasting
    ? [state('attention', 'they differ'), sub('The previous hour differs as well: one of them is incomplete.')]
    : [state('off', 'they differ'), sub('The previous hour does not show this difference.')];
}
