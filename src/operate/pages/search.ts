/** The search field of every page: leads to what it finds, or lists it. */
import { counted } from '../api/format.ts';
import { findAnything, isPlace, UNDERSTOOD, type Hit } from '../api/find.ts';
import { incidentView } from '../api/incident-views.ts';
import type { Reply } from '../http/reply.ts';
import { link, list, paragraph, section, sub, type Cell } from '#foundation/markup/cell.ts';
import { deadLetterPath, incidentPath, messagePath, planPath, policyPath } from '../contract/page-paths.ts';
import { goTo, showPage, type PageContext } from './frame/page.ts';

const MAX_TEXT = 1_000;
const MOST_SHOWN = 50;

export async function searchPage(context: PageContext): Promise<Reply> {
  const text = (context.query.get('q') ?? '').trim().slice(0, MAX_TEXT);
  const hits = text === '' ? [] : await findAnything(context, text);
  const [only] = hits;
  if (only !== undefined && hits.length === 1) return goTo(pathOf(only));
  return showPage(context, {
    title: text === '' ? 'Search' : `Search: ${text.slice(0, 100)}`,
    isStill: true,
    main: hits.length > 0 ? found(context, hits) : nothing(text),
  });
}

function found({ deps }: PageContext, hits: readonly Hit[]): Cell {
  const rows = hits.slice(0, MOST_SHOWN).map((hit): Cell => {
    const incident = hit.kind === 'incident' ? deps.incidents.find(hit.id) : undefined;
    return [
      link(pathOf(hit), incident === undefined ? textOf(hit) : incidentView(deps, incident).title),
      sub(incident === undefined ? detailOf(hit) : `incident, ${incident.state}: ${incident.reason}`),
    ];
  });
  const more = hits.length - rows.length;
  return section('found', 'Found', [list(rows), more > 0 && paragraph(`${more} more. Search for more of the text.`)]);
}

function nothing(text: string): Cell {
  const understood = section('understood', 'The search understands', list([...UNDERSTOOD]));
  if (text === '') return understood;
  const [name, what] = isPlace(text) ? ['url', 'destination'] : ['label', 'label'];
  const query = encodeURIComponent(text);
  return [
    paragraph(`Nothing that the daemon has in memory, and no plan or action, matches “${text.slice(0, 200)}”.`),
    section(
      'elsewhere',
      'Search further',
      list([
        [link(`/messages?${name}=${query}`, `Messages with this ${what}`), sub('reads the log of the service')],
        !/[\s/]/.test(text) && [
          link(`/messages/${query}`, 'Message or workflow run with this id'),
          sub('reads the log of the service'),
        ],
        [link(`/audit?q=${query}`, 'Records of the audit log with this text')],
      ]),
    ),
    understood,
  ];
}

function pathOf(hit: Hit): string {
  switch (hit.kind) {
    case 'incident':
      return incidentPath(hit.id);
    case 'plan':
      return planPath(hit.id);
    case 'policy':
      return policyPath(hit.id);
    case 'canary':
      return '/canaries';
    case 'dead letter':
      return deadLetterPath(hit);
    case 'message':
      return hit.account === undefined ? `/messages/${encodeURIComponent(hit.id)}` : messagePath(hit.id, hit.account);
    case 'action': {
      const { proposal } = hit.action;
      return 'workflowRunId' in proposal
        ? messagePath(proposal.workflowRunId, proposal.account)
        : policyPath(proposal.policy);
    }
    case 'dead letters':
      return `/dead-letters?${hit.filter.name}=${encodeURIComponent(hit.filter.value)}`;
    case 'failures':
      return `/messages?${hit.filter.name}=${encodeURIComponent(hit.filter.value)}`;
  }
}

function textOf(hit: Hit): string {
  if ('count' in hit) return counted(hit.count, hit.kind === 'failures' ? 'recent failure' : 'dead letter');
  if ('id' in hit) return `${hit.kind} ${hit.id}`;
  return `${hit.action.proposal.action} of ${hit.action.proposal.policy}`;
}

const FILTERS = { url: 'destination', label: 'label', responseStatus: 'status' } as const;

function detailOf(hit: Hit): string | undefined {
  if (hit.kind === 'dead letters') return `${FILTERS[hit.filter.name]} ${hit.filter.value}`;
  if (hit.kind === 'failures') return `${FILTERS[hit.filter.name]} ${hit.filter.value}; opens a search of the log`;
  if (hit.kind === 'action') return `action ${hit.action.id}, ${hit.action.outcome ?? 'in progress'}`;
  return 'account' in hit ? hit.account : undefined;
}
