/** Page of the incidents, and their table, which the first page has too. */
import { INCIDENT_STATES } from '#foundation/domain/incident.ts';
import { counted, formatCount, formatSpan } from '../api/format.ts';
import { incidentList } from '../api/incident-views.ts';
import type { Reply } from '../http/reply.ts';
import { filterForm, nextLink, readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { clipped, moment, section, state, sub, type Tone } from './page-parts.ts';
import { incidentPath } from './paths.ts';
import { bars } from './spark.ts';
import { table } from './table.ts';
import { listIncidents, type IncidentList, type IncidentView } from '../contract/incidents.ts';

export async function incidentsPage(context: PageContext): Promise<Reply> {
  const { deps, query } = context;
  await deps.incidents.settled();
  const list = incidentList(deps, readFilters(query, listIncidents));
  const accounts = deps.accounts.map(({ name }) => name);
  return showPage(context, {
    title: 'Incidents',
    section: '/incidents',
    main: html`${filterForm('/incidents', query, [
      { name: 'state', label: 'State', options: INCIDENT_STATES },
      ...(accounts.length > 1 ? [{ name: 'account', label: 'Account', options: accounts }] : []),
    ])}
    ${queueProblems(list)} ${section('incidents', counted(list.total, 'incident'), incidentTable(list))}
    ${nextLink('/incidents', query, list.cursor)}`,
  });
}

/** Problems of the data behind incidents and dead letters: an empty list must not look like a healthy one. */
export function queueProblems({ queues }: Pick<IncidentList, 'queues'>): HtmlValue {
  return queues.map(
    ({ account, queue, problem }) =>
      problem !== undefined &&
      // The limits of the message DLQ are permanent, so they need no attention.
      html`<p class="${queue === 'message' ? 'faint' : 'notice attention'}">
        The ${queue} DLQ of ${account} may be incomplete: ${problem}.
      </p>`,
  );
}

export function incidentTable({ incidents, at }: Pick<IncidentList, 'incidents' | 'at'>): Html {
  return table<IncidentView>({
    caption: 'Each incident is a group of failures with one cause. Unresolved ones first, then the newest.',
    rows: incidents,
    empty: 'No incident. Failed runs, failed messages and failing deliveries appear here, grouped by cause.',
    columns: [
      {
        title: 'Incident',
        wide: true,
        cell: (row) => [html`<a href="${incidentPath(row.id)}">${clipped(row.title)}</a>`, sub(row.account)],
      },
      { title: 'State', wide: true, cell: incidentState },
      { title: 'Members now', align: 'number', cell: (row) => [knownCount(row.members), sub(everOf(row))] },
      { title: 'Rate', cell: rate },
      { title: 'First failure', cell: (row) => firstFailure(row, at) },
      { title: 'Last failure', cell: (row) => moment(row.lastAt, at) },
      { title: 'First expires', cell: (row) => moment(row.firstExpiresAt, at) },
    ],
  });
}

/** `412`; `at least 3 known` if there may be more. */
export function knownCount({ now, isLowerBound }: IncidentView['members']): string {
  return isLowerBound ? `at least ${formatCount(now)} known` : formatCount(now);
}

/** Time of the first known failure. */
export function firstFailure({ firstAt, isSinceKnown }: IncidentView, at: number): HtmlValue {
  return [moment(firstAt, at), !isSinceKnown && sub('or earlier')];
}

function everOf({ members, deliveries }: IncidentView): string {
  const lost = deliveries?.lost ?? 0;
  if (members.isLowerBound && lost > members.ever) return counted(lost, 'failed message');
  return `${members.isLowerBound ? 'at least ' : ''}${formatCount(members.ever)} ever`;
}

const STATE_TONE: Readonly<Record<IncidentView['state'], Tone>> = {
  open: 'trouble',
  acknowledged: 'attention',
  recovering: 'attention',
  resolved: 'ok',
};

export function incidentState({ state: now, acknowledged }: IncidentView): HtmlValue {
  return [state(STATE_TONE[now], now), acknowledged && sub(`${acknowledged.by}: ${acknowledged.note}`)];
}

/** Chart of the failures over time, with its highest bar in words. */
export function rate({ rate: given }: IncidentView): HtmlValue {
  if (given === undefined) return undefined;
  const { counts, stepMs } = given;
  const most = `at most ${formatCount(Math.max(0, ...counts))} in ${formatSpan(stepMs)}`;
  const chart = bars(counts, `Failures over time, ${most}`);
  return chart && [chart, html`<span class="sub nowrap">${most}</span>`];
}
