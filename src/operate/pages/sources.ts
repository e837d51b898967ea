/** Page of the sources: data from the service, the comparison of log and statistics, accounts, and labels. */
import { counted, formatAge, formatCount, formatSpan } from '../api/format.ts';
import { readLeases, readSources } from '../api/status.ts';
import type { AccountView, SourceView } from '../contract/status.ts';
import { sourceAnchor } from '../api/verdict.ts';
import type { Reply } from '../http/reply.ts';
import { showPage, withCommands, type PageContext } from './frame/page.ts';
import { overflowedLabels } from './label-table.ts';
import { reconciliation } from './reconciliation-table.ts';
import {
  type Cell,
  duration,
  lines,
  minor,
  moment,
  number,
  section,
  state,
  sub,
  table,
  time,
  type Tone,
  whole,
  wide,
} from '../show/cell.ts';
import { html } from '../show/html.ts';

export function sourcesPage(context: PageContext): Reply {
  const { deps } = context;
  const { sources: rows, reconciliation: compared } = withCommands(context, readSources(deps));
  return showPage(context, {
    title: 'Sources',
    section: '/sources',
    main: html`${section('sources', 'Data from the service', sources(rows, deps.clock.now()))}
    ${reconciliation(compared, rows)} ${section('accounts', 'Accounts', accounts(readLeases(deps).accounts))}
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
      Rows: number(rowsCell),
      'Failed polls': number((row) =>
        row.runs === 0 ? undefined : `${formatCount(row.failures)} of ${formatCount(row.runs)}`,
      ),
      Duration: minor(number((row) => duration(row.lastDurationMs))),
      [rows.some((row) => row.off !== undefined) ? 'Last error, or reason for off' : 'Last error']: wide((row) =>
        row.off === undefined ? lastError(row, now) : html`<span class="faint">${row.off}</span>`,
      ),
    },
  });
}

function rowsCell(row: SourceView): Cell {
  if (row.rows === undefined) return undefined;
  if (row.countedUntilAt !== undefined) {
    const until = [sub('counted until'), ' ', whole(time(row.countedUntilAt))];
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
  return html`${failure.reason}: ${failure.message}<span class="sub"
      >${time(failure.at)}, ${formatAge(failure.at, now)}</span
    >`;
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
