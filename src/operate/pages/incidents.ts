/** Page of the incidents, and their table, which the first page has too. */
import { listIncidents, type IncidentList, type IncidentView } from '../contract/incidents.ts';
import { acknowledgmentText, INCIDENT_STATES } from '#foundation/domain/incident.ts';
import { counted, formatCount } from '../api/format.ts';
import { incidentList } from '../api/incident-views.ts';
import type { Reply } from '../http/reply.ts';
import { accountField, filterForm, nextLink, readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { firstFailure, knownCount, rateChart, whoRepairs } from '../show/incident.ts';
import { readStatus } from '../api/status.ts';
import type { Status } from '../api/stored-status.ts';
import { incidentPath } from '../contract/page-paths.ts';
import { address, type Cell, moment, numberColumn, section, sub, table, wide } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

export async function incidentsPage(context: PageContext): Promise<Reply> {
  const { deps, query } = context;
  await deps.incidents.settled();
  const list = incidentList(deps, readFilters(query, listIncidents));
  const { repairs } = await readStatus(deps, 0, context.signal);
  return showPage(context, {
    title: 'Incidents',
    section: '/incidents',
    main: html`${filterForm('/incidents', query, [
      { name: 'state', label: 'State', options: INCIDENT_STATES },
      ...accountField(deps.accounts),
    ])}
    ${queueProblems(list)} ${section('incidents', counted(list.total, 'incident'), incidentTable(list, repairs))}
    ${nextLink('/incidents', query, list.cursor)}`,
  });
}

/** Problems of the data behind incidents and dead letters: an empty list must not look like a healthy one. */
export function queueProblems({ queues }: Pick<IncidentList, 'queues'>): Cell {
  return queues.map(
    ({ account, queue, problem }) =>
      problem !== undefined &&
      // The limits of the message DLQ are permanent, so they need no attention.
      html`<p class="${queue === 'message' ? 'faint' : 'notice attention'}">
        The ${queue} DLQ of ${account} may be incomplete: ${problem}.
      </p>`,
  );
}

/** @param repairs by incident; one without a repair is not known */
export function incidentTable(
  { incidents, at }: Pick<IncidentList, 'incidents' | 'at'>,
  repairs: Status['repairs'],
  isShort = false,
): Cell {
  const isOfOne = new Set(incidents.map(({ account }) => account)).size === 1;
  return table<IncidentView>({
    caption: isShort
      ? 'Unresolved incidents, the most urgent ones first.'
      : 'Each incident is a group of failures with one cause. Unresolved ones first, then the newest.',
    rows: incidents,
    empty: 'No incident. Failed runs, failed messages and failing deliveries appear here, grouped by cause.',
    columns: {
      'What fails': wide((row) => [
        html`<a href="${incidentPath(row.id)}">${address(row.place)}</a>`,
        !isOfOne && sub(row.account),
      ]),
      Why: wide((row) => row.reason),
      Now: numberColumn((row) => [knownCount(row.members), !isShort && sub(everOf(row))]),
      Failures: (row) => rateChart(row),
      Since: (row) => firstFailure(row, at),
      'First expires': (row) => moment(row.firstExpiresAt, at),
      'Who repairs it': wide((row) => [whoRepairs(row, repairs.get(row.id)), sub(acknowledgmentText(row))]),
    },
  });
}

function everOf({ members, deliveries }: IncidentView): string {
  const lost = deliveries?.lost ?? 0;
  if (members.isLowerBound && lost > members.ever) return counted(lost, 'failed message');
  return `${members.isLowerBound ? 'at least ' : ''}${formatCount(members.ever)} ever`;
}
