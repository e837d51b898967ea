/**
 * First page: problems, active conditions and pending plans, then the repairs in progress and the last actions. Words
 * show all states; color and shape only repeat them.
 */
import type { Status } from '../api/stored-status.ts';
import type { IncidentState } from '#foundation/domain/incident.ts';
import { formatAge, formatCount } from '../api/format.ts';
import { incidentList } from '../api/incident-views.ts';
import { readStatus } from '../api/status.ts';
import type { Problem, VerdictLevel } from '../contract/status.ts';
import { INCIDENTS_ANCHOR, isOfIncident } from '../api/verdict.ts';
import type { Reply } from '../http/reply.ts';
import { actions } from '../show/actions.ts';
import { pageCommand, showPage, withCommands, type PageContext } from './frame/page.ts';
import { incidentTable } from './incidents.ts';
import { activeConditions, pendingPlans } from './page-policies.ts';
import { campaigns } from '../show/campaigns.ts';
import { liftForm, pauseForm } from './pauses.ts';
import { problemPath } from '../show/paths.ts';
import { outageAnchor, outageSince, outageTitle, reactionText, type OutageView } from '../situation/outages.ts';
import { type Cell, figures, section, state, timePiece, type Tone } from '../show/cell.ts';
import { clipped, html, message } from '../show/html.ts';

const ACTIONS = 10;

export async function nowPage(context: PageContext): Promise<Reply> {
  const { deps, signal } = context;
  const status = withCommands(context, await readStatus(deps, ACTIONS, signal));
  const command = pageCommand(context);
  return showPage(context, {
    title: 'Now',
    windowTitle: VERDICT_WORD[status.verdict.level],
    section: '/',
    main: html`${verdict(status)} ${openIncidents(context)} ${activeConditions(besidesIncidents(status), context)}
    ${pendingPlans(status, command)}
    ${campaigns(
      status.policies.flatMap((policy) => policy.campaigns),
      status.at,
    )}
    ${section('actions', 'Last actions', actions(status, status.at))}
    ${status.pauses.some(({ scope }) => scope === 'engine') ? liftForm(context) : pauseForm(context)}`,
  });
}

const UNRESOLVED: IncidentState[] = ['open', 'recovering', 'acknowledged'];

/** Status without the conditions that report incidents. */
function besidesIncidents(status: Status): Status {
  return { ...status, conditions: status.conditions.filter((condition) => !isOfIncident(condition)) };
}

/** @returns undefined without unresolved incidents: the verdict then says that all is well */
function openIncidents({ deps }: PageContext): Cell {
  const list = incidentList(deps, { state: UNRESOLVED, limit: 5 });
  if (list.total === 0) return undefined;
  const more = list.total - list.incidents.length;
  return section(
    INCIDENTS_ANCHOR,
    'Incidents',
    html`${incidentTable(list)} ${more > 0 && html`<p><a href="/incidents">${formatCount(more)} more</a></p>`}`,
  );
}

const VERDICT_WORD: Readonly<Record<VerdictLevel, string>> = {
  trouble: 'Trouble',
  attention: 'Attention',
  starting: 'Starting',
  info: 'Note',
  ok: 'All is well',
};

const VERDICT_TONE: Readonly<Record<VerdictLevel, Tone>> = {
  trouble: 'trouble',
  attention: 'attention',
  starting: 'off',
  info: 'off',
  ok: 'ok',
};

function verdict({ verdict: { level, sentence, problems }, outages, at }: Status): Cell {
  // The sentence of these levels already begins with the word.
  const word = level === 'ok' || level === 'starting' ? undefined : VERDICT_WORD[level];
  const [first, ...rest] = problems;
  const outageOf = (problem?: Problem) => outages.find((outage) => outageAnchor(outage) === problem?.anchor);
  const outage = outageOf(first);
  const headline = outage === undefined ? clipped(sentence) : outageHeadline(outage, at);
  // Outages follow the first problem, each with its own figures.
  const more = rest.flatMap((problem) => outageOf(problem) ?? []);
  const others = rest.filter((problem) => outageOf(problem) === undefined);
  return html`<div id="verdict" class="verdict ${level}">
    <p>
      ${word === undefined ? state(VERDICT_TONE[level], '') : html`<strong>${state(VERDICT_TONE[level], `${word}:`)}</strong>`}${first?.anchor === undefined ? headline : html`<a href="${problemPath(first.anchor)}">${headline}</a>`}
    </p>
    ${outage && outageFigures(outage, at)}
    ${more.map((one) => [html`<p>${outageHeadline(one, at)}</p>`, outageFigures(one, at)])}
    ${others.length > 0 && problemList('Also', others.slice(0, OPEN_PROBLEMS))}
    ${
      others.length > OPEN_PROBLEMS &&
      html`<details>
        <summary>${others.length - OPEN_PROBLEMS} more</summary>
        ${problemList('More problems', others.slice(OPEN_PROBLEMS))}
      </details>`
    }
  </div>`;
}

/** Maximum number of visible problems: more would push the conditions and next steps off the screen. */
const OPEN_PROBLEMS = 10;

function problemList(label: string, problems: readonly Problem[]): Cell {
  return html`<ul aria-label="${label}">
    ${problems.map(problemItem)}
  </ul>`;
}

function problemItem({ text, anchor }: Problem): Cell {
  const shown = message(clipped(text));
  return html`<li>${anchor === undefined ? shown : html`<a href="${problemPath(anchor)}">${shown}</a>`}</li>`;
}

/** @returns the fault in one line: the destination, its response, and the start */
function outageHeadline(outage: OutageView, now: number): Cell {
  return html`${clipped(outageTitle(outage))} ${outageSince(outage, now)}`;
}

function outageFigures(outage: OutageView, now: number): Cell {
  const { failed, delivered, lost, reasons, failedRuns, oldestFailedAt, firstExpiresAt } = outage;
  const why = reasons.map(({ reason, count }) => `${formatCount(count)} ${reason}`).join(', ');
  const moment = (name: string, at: number) => ({ name, value: formatAge(at, now), note: timePiece(at) });
  const expiry =
    firstExpiresAt === undefined
      ? { name: 'First expires', value: 'unknown', note: 'limits.dlqRetention is not set' }
      : moment('First expires', firstExpiresAt);
  const rows = [
    {
      name: 'Failed runs',
      value: failedRuns === undefined ? 'unknown' : formatCount(failedRuns),
      note: 'in the workflow DLQ',
    },
    { name: 'Failed messages', value: formatCount(lost), note: 'permanently, including those of runs' },
    {
      name: 'Failed attempts',
      value: formatCount(failed),
      note: `of ${formatCount(failed + delivered)}: ${clipped(why)}`,
    },
    oldestFailedAt !== undefined && moment('Oldest failed run', oldestFailedAt),
    oldestFailedAt !== undefined && expiry,
  ];
  return html`${figures(rows, outageAnchor(outage))}
    <p class="reaction"><strong>Reaction of the daemon:</strong> ${clipped(reactionText(outage))}.</p>`;
}
