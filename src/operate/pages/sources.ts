/** Page of the sources: data from the service, the comparison of log and statistics, accounts, and labels. */
import { counted, formatAge, formatCount, formatSpan, formatTime, machineTime } from '../api/format.ts';
import { readLeases, readSources } from '../api/status.ts';
import type { AccountView, LabelView, ReconciliationView, SourceView } from '../contract/status.ts';
import { reconciliationAnchor, sourceAnchor } from '../contract/page-paths.ts';
import type { Reply } from '../http/reply.ts';
import { isShown, showPage, withCommands, type PageContext } from './frame/page.ts';
import {
  type Cell,
  duration,
  idText,
  lines,
  minor,
  moment,
  numberColumn,
  section,
  state,
  sub,
  table,
  timePiece,
  type Tone,
  whole,
  wide,
} from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

export function sourcesPage(context: PageContext): Reply {
  const { deps } = context;
  const read = withCommands(context, readSources(deps));
  const isOf = isShown(context);
  const [rows, compared] = [read.sources.filter(isOf), read.reconciliation.filter(isOf)];
  return showPage(context, {
    title: 'Sources',
    section: '/sources',
    main: html`${section('sources', 'Data from the service', sources(rows, deps.clock.now()))}
    ${reconciliation(compared, rows)}
    ${section('accounts', 'Accounts', accounts(readLeases(deps).accounts.filter(({ name }) => isOf({ account: name }))))}
    ${overflowedLabels(deps.labels?.() ?? [])}`,
  });
}

const SOURCE_TONE: Readonly<Record<SourceView['state'], Tone>> = {
  ok: 'ok',
  failing: 'attention',
  stale: 'trouble',
  pending: 'off',
  off: 'off',
};

function sources(rows: readonly SourceView[], now: number): Cell {
  return table<SourceView>({
    caption: 'Each collector reads one resource. Data that becomes too old is withheld from the metrics.',
    rows,
    rowId: sourceAnchor,
    empty: 'No collector is registered yet. Each account has seven, which appear after the start of the daemon.',
    columns: {
      Source: (row) => [row.collector, sub(row.account)],
      State: (row) => state(SOURCE_TONE[row.state], row.state),
      'Last success': (row) => moment(row.lastSuccessAt, now),
      Schedule: (row) => row.off === undefined && whole(row.schedule),
      Rows: numberColumn(rowsCell),
      'Failed polls': numberColumn((row) =>
        row.runs === 0 ? undefined : `${formatCount(row.failures)} of ${formatCount(row.runs)}`,
      ),
      Duration: minor(numberColumn((row) => duration(row.lastDurationMs))),
      [rows.some((row) => row.off !== undefined) ? 'Last error, or reason for off' : 'Last error']: wide((row) =>
        row.off === undefined ? lastError(row, now) : html`<span class="faint">${row.off}</span>`,
      ),
    },
  });
}

function rowsCell(row: SourceView): Cell {
  if (row.rows === undefined) return undefined;
  if (row.countedUntilAt !== undefined) {
    const until = [sub('counted until'), ' ', whole(timePiece(row.countedUntilAt))];
    return [until, sub(lagText(row))];
  }
  return [formatCount(row.rows), (row.dropped ?? 0) > 0 && sub(`${counted(row.dropped!, 'invalid row')} dropped`)];
}

/** `42 min behind, counting at 3.1× real time`. */
function lagText({ lagMs, catchUpRatio }: SourceView): string {
  if (lagMs === undefined) return 'ahead of the local clock';
  const rate = catchUpRatio === undefined ? '' : `, counting at ${catchUpRatio.toFixed(1)}× real time`;
  return `${formatSpan(lagMs)} behind${rate}`;
}

function lastError(row: SourceView, now: number): Cell {
  const failure = row.lastFailure;
  if (failure === undefined) return undefined;
  return html`${failure.reason}: ${failure.message}
    <span class="sub">${timePiece(failure.at)}, ${formatAge(failure.at, now)}</span>`;
}

function ownerCell({ lease }: AccountView): Cell {
  if (lease === undefined) return undefined;
  const { replica, epoch, isOwn, isUnknown, next } = lease;
  if (isUnknown === true) return [state('attention', 'unknown'), next !== undefined && sub(`${next} takes it`)];
  const owner = replica === undefined ? state('trouble', 'no replica') : html`${replica}${isOwn && ' (this replica)'}`;
  return [owner, sub(`epoch ${epoch}`)];
}

function accounts(rows: readonly AccountView[]): Cell {
  return table<AccountView>({
    caption: 'Requests since midnight UTC, and the daemon’s own limit.',
    rows,
    empty: 'No account is configured.',
    columns: {
      Account: wide((row) => row.name),
      ...(rows.some(({ lease }) => lease !== undefined) && { Owner: ownerCell }),
      'Message API': wide((row) => row.messageApiUrl ?? 'not configured'),
      'Management API': wide((row) => row.managementApiUrl ?? 'not configured'),
      'Requests today': ({ usage }) =>
        lines(usage.map((one) => `${one.api} ${formatCount(one.usedToday)} of ${formatCount(one.allowedPerDay)}`)),
    },
  });
}

const HOUR_MS = 3_600_000;

/** @returns undefined if no statistics are read: there is nothing to compare */
function reconciliation(rows: readonly ReconciliationView[], sources: readonly SourceView[]): Cell {
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
        Log: numberColumn((row) => formatCount(row.logs)),
        Statistics: numberColumn((row) => formatCount(row.statistics)),
        Difference: numberColumn(difference),
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

/** Number of values that overflow, of each label. */
const SHOWN = 5;

/** @returns undefined if no value overflows: a full table needs no attention */
function overflowedLabels(labels: readonly LabelView[]): Cell {
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
        Shown: numberColumn((row) => `${formatCount(row.shown)} of ${formatCount(row.max)}`),
        Overflow: numberColumn((row) => formatCount(row.overflowAmount)),
        Largest: wide((row) => lines(row.largestOverflow.slice(0, SHOWN).map(largest))),
      },
    }),
  );
}

/** Minimum count of a value: counts that may belong to other values are subtracted. */
function largest({ value, count, over }: LabelView['largestOverflow'][number]): Cell {
  return [idText(value), ` ${formatCount(count - over)}`];
}
