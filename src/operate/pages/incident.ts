/** Page of one incident: what fails, who repairs it, the next step, and the forms for it. */
import { stateWord } from '#foundation/domain/incident.ts';
import { QUEUE_OF } from '#foundation/domain/selection.ts';
import { counted } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { acknowledge } from '../api/incident-routes.ts';
import { findIncident, incidentDetail, readIncident } from '../api/incident-views.ts';
import { allow, mayUse } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import type { Reply } from '../http/reply.ts';
import { buttonOf, folded, reasonInput, reasonOf, textOf } from './frame/fields.ts';
import { pageCommand, formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { makeManualPlan } from './manual-plan.ts';
import { actionPart } from './next-action.ts';
import { pauseForm } from './pauses.ts';
import { campaigns } from '../show/campaigns.ts';
import {
  incidentChart,
  incidentFacts,
  incidentNext,
  incidentPlans,
  incidentPolicies,
  incidentSample,
  incidentStatus,
  incidentStoryPart,
} from '../show/incident.ts';
import { incidentPath } from '../contract/page-paths.ts';
import { type Cell, Html, nextStep } from '#foundation/markup/cell.ts';
import { clipped, html } from '#foundation/markup/html.ts';
import { takeBack, type NextAction } from '../situation/next-step.ts';
import type { IncidentDetail } from '../contract/incidents.ts';

export async function incidentPage(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  await deps.incidents.settled();
  const read = await fromStore(() => readIncident(deps, findIncident(deps, id), signal));
  const incident = withCommands(context, read.detail);
  const at = deps.clock.now();
  const campaignIds = new Set(incident.campaigns.map((campaign) => campaign.id));
  const own = read.policies.flatMap((policy) => policy.campaigns).filter((campaign) => campaignIds.has(campaign.id));
  return showPage(context, {
    title: clipped(incident.title),
    windowTitle: `${incident.state}: ${clipped(incident.title)}`,
    section: '/incidents',
    lead: clipped(incident.reason),
    main: [
      html`<p class="status">${incidentStatus(incident, at).map(clipped)}</p>`,
      decision(context, incident, read.action),
      incidentChart(incident),
      incidentStoryPart(incident),
      incidentSample(incident),
      incidentPlans(incident.plans, at, (plan) => actionPart(context, takeBack(plan), incident.plans)),
      campaigns(own, at),
      incidentPolicies(incident, at),
      folded('Details', incidentFacts(incident, at)),
    ],
  });
}

/** The next step with its button; for readers who may not take it, with its command. */
function decision(context: PageContext, incident: IncidentDetail, action: NextAction | undefined): Cell {
  const primary = mayUse(context, 'operator') ? primaryForm(context, incident, action) : undefined;
  if (primary === undefined && !mayUse(context, 'operator')) return incidentNext(incident, pageCommand(context));
  const others = otherForms(context, incident, action);
  return [
    nextStep(incident.next.text, undefined),
    html`<div class="acts">${primary} ${others.length > 0 && folded('Other actions', others)}</div>`,
  ];
}

function primaryForm(context: PageContext, incident: IncidentDetail, action: NextAction | undefined): Cell {
  if (action === undefined) return acknowledgeForm(context, incident);
  if (action.kind === 'resume') return planForm(context, incident);
  return [actionPart(context, action, incident.plans), action.kind === 'plan' && pauseForm(context, action.policy)];
}

function otherForms(context: PageContext, incident: IncidentDetail, action: NextAction | undefined): readonly Html[] {
  const forms = [
    action !== undefined && acknowledgeForm(context, incident),
    snoozeForm(context, incident),
    action?.kind !== 'resume' && planForm(context, incident),
    deleteForm(context, incident),
  ];
  return forms.filter((form) => form instanceof Html);
}

function incidentForm(context: PageContext, { id }: IncidentDetail, label: string, content: Cell): Html | undefined {
  return formFor(context, { role: 'operator', action: incidentPath(id), label, content });
}

function acknowledgeForm(context: PageContext, incident: IncidentDetail): Html | undefined {
  const now = stateWord(incident);
  if (now === 'resolved' || now === 'acknowledged') return undefined;
  const content = html`<label>Note <input name="reason" maxlength="500" autocomplete="off" required /></label>
    <button name="act" value="acknowledge">Acknowledge</button>`;
  return incidentForm(context, incident, 'Acknowledge', content);
}

function snoozeForm(context: PageContext, incident: IncidentDetail): Html | undefined {
  if (incident.state === 'resolved') return undefined;
  const content = html`<label
      >Snooze
      <select name="until">
        ${SNOOZES.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
      </select></label
    >
    ${reasonInput()}
    <button name="act" value="snooze">Snooze</button>`;
  return incidentForm(context, incident, 'Snooze', content);
}

const SNOOZES = [
  ['1h', 'for an hour'],
  ['8h', 'for 8 hours'],
  ['1d', 'for a day'],
  ['7d', 'for a week'],
  ['deploy', 'until a deploy'],
] as const;

/** Plans that bring all known members back. */
function planForm(context: PageContext, incident: IncidentDetail): Html | undefined {
  const { workflow, message } = incident.memberIds;
  if (workflow.length + message.length === 0) return undefined;
  const content = html`${reasonInput()}
    ${workflow.length > 0 && html`<button name="act" value="resume">Plan to resume ${counted(workflow.length, 'run')}</button>`}
    ${message.length > 0 && html`<button name="act" value="republish">Plan to publish ${counted(message.length, 'message')} again</button>`}
    <span class="faint">A plan changes nothing until you apply it.</span>`;
  return incidentForm(context, incident, 'Plan', content);
}

function deleteForm(context: PageContext, incident: IncidentDetail): Html | undefined {
  const { workflow, message } = incident.memberIds;
  if (workflow.length + message.length === 0) return undefined;
  const content = html`${reasonInput()}
  ${workflow.length > 0 && html`<button name="act" value="delete" class="danger">Plan to delete ${counted(workflow.length, 'run')}</button>`}
  ${message.length > 0 && html`<button name="act" value="delete-messages" class="danger">Plan to delete ${counted(message.length, 'message')}</button>`}`;
  return incidentForm(context, incident, 'Plan to delete', content);
}

const ACTS = ['acknowledge', 'snooze', 'resume', 'republish', 'delete', 'delete-messages'] as const;

/** Acknowledges or snoozes an incident, or makes a plan for all of its members. */
export async function changeIncident(context: PageContext): Promise<Reply> {
  const { deps, id } = context;
  const caller = allow(context, 'operator', 'opsd incidents acknowledge ID --note TEXT');
  const form = await readForm(context, caller);
  const act = buttonOf(form, ACTS);
  const reason = reasonOf(form);
  if (act === 'acknowledge' || act === 'snooze') {
    const until = act === 'snooze' ? (textOf(form, 'until') ?? '') : undefined;
    await acknowledge(deps, id, { by: caller.by, note: reason, until });
    return goTo(incidentPath(id));
  }
  await deps.incidents.settled();
  const { account, memberIds } = await incidentDetail(deps, findIncident(deps, id));
  const ids = memberIds[QUEUE_OF[act]];
  return makeManualPlan(context, { account, action: act, ids }, { by: caller.by, reason });
}
