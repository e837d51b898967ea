/**
 * First page, in one screen: is it well, how did it go, what is to be decided, what is broken and who repairs it. What
 * repairs itself, and everything that is longer, is folded.
 */
import type { IncidentState } from '#foundation/domain/incident.ts';
import { counted, formatCount } from '../api/format.ts';
import { incidentList } from '../api/incident-views.ts';
import { ofAccount, readStatusAnd } from '../api/status.ts';
import type { Status } from '../api/stored-status.ts';
import { besidesPauses, isOfIncident } from '../api/verdict.ts';
import type { Problem, VerdictLevel } from '../contract/status.ts';
import type { Reply } from '../http/reply.ts';
import { actions } from '../show/actions.ts';
import { campaigns } from '../show/campaigns.ts';
import { section, state, type Cell, type Tone } from '#foundation/markup/cell.ts';
import { clipped, html, message } from '#foundation/markup/html.ts';
import { folded } from './frame/fields.ts';
import { accountOf, showPage, withCommands, type PageContext } from './frame/page.ts';
import { choice } from '#foundation/markup/menu.ts';
import { incidentTable } from './incidents.ts';
import { charts, readHistory, spanOf, SPANS } from './now-charts.ts';
import { activeConditions } from './page-policies.ts';
import { pauseForm } from './pauses.ts';
import { toDo } from './to-do.ts';

const ACTIONS = 10;
const INCIDENTS = 3;

export async function nowPage(context: PageContext): Promise<Reply> {
  const { deps, signal } = context;
  const account = accountOf(context);
  const { status: read, other: history } = await readStatusAnd(deps, {
    actionLimit: ACTIONS,
    also: (ledger) => readHistory(deps, { account, span: spanOf(context.query) }, ledger),
    signal,
  });
  const shown = account === undefined ? read : ofAccount(deps, read, account);
  const status = { ...withCommands(context, shown), repairs: read.repairs };
  const first = headProblem(status);
  return showPage(context, {
    title: 'Now',
    windowTitle: VERDICTS[status.verdict.level][1],
    section: '/',
    heading: headline(status),
    lead: first?.detail === undefined ? undefined : message(clipped(first.detail)),
    tools: choice(context, 'span', SPANS),
    main: html`${charts(history)} ${toDo(status, context)} ${openIncidents(status, context, account)}
    ${otherProblems(status)} ${more(status, context)}`,
  });
}

const VERDICTS: Readonly<Record<VerdictLevel, readonly [tone: Tone, word: string]>> = {
  trouble: ['trouble', 'Trouble'],
  attention: ['attention', 'Attention'],
  starting: ['off', 'Starting'],
  info: ['busy', 'Note'],
  ok: ['ok', 'All is well'],
};

/** Problem of the heading: the first one of the worst level. Undefined if all is well, and while the daemon starts. */
function headProblem({ verdict: { level, problems } }: Status): Problem | undefined {
  return problems.find((problem) => problem.level === level);
}

/** The worst problem in a few words; its details are below it, and the other problems follow. */
function headline(status: Status): Cell {
  const first = headProblem(status);
  const { level, sentence } = status.verdict;
  const shown = state(VERDICTS[level][0], clipped(first?.text ?? sentence));
  return first?.path === undefined ? shown : html`<a href="${first.path}">${shown}</a>`;
}

const UNRESOLVED: IncidentState[] = ['open', 'recovering', 'acknowledged'];

/** @returns undefined without unresolved incidents: the verdict then says that all is well */
function openIncidents({ repairs }: Status, { deps }: PageContext, account: string | undefined): Cell {
  const list = incidentList(deps, { account, state: UNRESOLVED, limit: INCIDENTS });
  if (list.total === 0) return undefined;
  const repaired = list.incidents.filter(({ id }) => {
    const { by, why } = repairs.get(id) ?? {};
    // One that a guard holds repairs nothing.
    return by === 'policy' && why === undefined;
  }).length;
  const more = list.total - list.incidents.length;
  return html`<section aria-labelledby="incidents">
    <div class="title">
      <h2 id="incidents">Incidents</h2>
      <p class="faint">
        ${formatCount(list.total)} unresolved${repaired > 0 && `, ${formatCount(repaired)} of them being repaired`}
        ${more > 0 && html` · <a href="/incidents">${formatCount(more)} more</a>`}
      </p>
    </div>
    ${incidentTable(list, repairs, true)}
  </section>`;
}

/** Problems that neither the heading, a decision nor an incident of the page shows. */
function otherProblems(status: Status): Cell {
  const head = headProblem(status);
  const others = status.verdict.problems.filter(
    (problem) => problem !== head && !/^\/(?:incidents|plans)\//.test(problem.path ?? ''),
  );
  const [first, ...rest] = others;
  if (first === undefined) return undefined;
  if (rest.length === 0) return problemList('Also', others);
  return html`<details class="rows also">
    <summary>${state(PROBLEM_TONE[first.level], clipped(first.text))} and ${formatCount(rest.length)} more</summary>
    ${problemList('Also', others)}
  </details>`;
}

const PROBLEM_TONE: Readonly<Record<Problem['level'], Tone>> = {
  trouble: 'trouble',
  attention: 'attention',
  info: 'off',
};

function problemList(label: string, problems: readonly Problem[]): Cell {
  return html`<ul class="rows" aria-label="${label}">
    ${problems.map((problem) => {
      const { level, text, detail, path } = problem;
      const head = state(PROBLEM_TONE[level], clipped(text));
      return html`<li>
        ${path === undefined ? head : html`<a href="${path}">${head}</a>`}
        ${detail !== undefined && html`<span class="faint">${message(clipped(detail))}</span>`}
      </li>`;
    })}
  </ul>`;
}

function more(status: Status, context: PageContext): Cell {
  const conditions = { ...status, conditions: status.conditions.filter((condition) => !isOfIncident(condition)) };
  const count = besidesPauses(conditions).length + status.pauses.length + status.approvals.length;
  const running = status.policies.flatMap((policy) => policy.campaigns);
  return html`<div class="folds">
    ${count > 0 && folded(counted(count, 'active condition'), activeConditions(conditions, context))}
    ${running.length > 0 && folded(counted(running.length, 'campaign'), campaigns(running, status.at))}
    ${folded('Last actions', section('actions', 'Last actions', actions(status, status.at)))}
    ${!status.pauses.some(({ scope }) => scope === 'engine') && pauseForm(context)}
  </div>`;
}
