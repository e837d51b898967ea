/** Page of one incident: what fails, who repairs it, the next step, and the forms for it. */
import type { MANUAL_ACTIONS } from '#foundation/domain/selection.ts';
import { counted } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { acknowledge } from '../api/incident-routes.ts';
import { findIncident, incidentDetail, readIncident } from '../api/incident-views.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import type { Reply } from '../http/reply.ts';
import { foldedTakeBack } from './approvals.ts';
import { buttonOf, reasonInput, reasonOf } from './frame/fields.ts';
import { pageCommand, formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { makeManualPlan } from './manual-plan.ts';
import { pendingPlans } from './page-policies.ts';
import { campaigns } from '../show/campaigns.ts';
import {
  incidentFacts,
  incidentMarks,
  incidentNext,
  incidentPlans,
  incidentPolicies,
  incidentSample,
} from '../show/incident.ts';
import { incidentPath } from '../show/paths.ts';
import type { Cell } from '../show/cell.ts';
import { clipped, html } from '../show/html.ts';
import type { IncidentDetail } from '../contract/incidents.ts';

export async function incidentPage(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  await deps.incidents.settled();
  const read = await fromStore(() => readIncident(deps, findIncident(deps, id), signal));
  const incident = withCommands(context, read.detail);
  const at = deps.clock.now();
  const command = pageCommand(context);
  const campaignIds = new Set(incident.campaigns.map((campaign) => campaign.id));
  const own = read.policies.flatMap((policy) => policy.campaigns).filter((campaign) => campaignIds.has(campaign.id));
  const isPending = ({ state }: { readonly state: string }) => state === 'pending';
  const others = incident.plans.filter((plan) => !isPending(plan));
  return showPage(context, {
    title: clipped(incident.title),
    windowTitle: `${incident.state}: ${clipped(incident.title)}`,
    section: '/incidents',
    main: [
      incidentNext(incident, command),
      incidentFacts(incident, at),
      forms(context, incident),
      pendingPlans({ plans: incident.plans.filter(isPending), at }, command),
      incidentPlans(others, at, (plan) => foldedTakeBack(context, plan)),
      campaigns(own, at),
      incidentPolicies(incident, at),
      incidentSample(incident),
      incidentMarks(incident),
    ],
  });
}

function forms(context: PageContext, { id, state: now, members, memberIds }: IncidentDetail): Cell {
  if (now === 'resolved') return undefined;
  const action = incidentPath(id);
  const acknowledge =
    now !== 'acknowledged' &&
    formFor(context, {
      role: 'operator',
      action,
      label: 'Acknowledge',
      content: html`<label>Note <input name="reason" maxlength="500" autocomplete="off" required /></label>
        <button name="act" value="acknowledge">Acknowledge</button>`,
    });
  const plan =
    members.now > 0 &&
    formFor(context, {
      role: 'operator',
      action,
      label: 'Plan',
      content: html`${reasonInput()}
        ${
          memberIds.workflow.length > 0 &&
          html`<button name="act" value="resume">Plan to resume ${counted(memberIds.workflow.length, 'run')}</button>
            <button name="act" value="delete" class="danger">
              Plan to delete ${counted(memberIds.workflow.length, 'run')}
            </button>`
        }
        ${memberIds.message.length > 0 && html`<button name="act" value="delete-messages" class="danger">Plan to delete ${counted(memberIds.message.length, 'message')}</button>`}
        <span class="faint">A plan changes nothing until you apply it.</span>`,
    });
  const isEmpty = (acknowledge || plan || undefined) === undefined;
  return isEmpty ? undefined : html`<div class="acts">${acknowledge} ${plan}</div>`;
}

const ACTS = ['acknowledge', 'resume', 'delete', 'delete-messages'] as const satisfies readonly (
  | 'acknowledge'
  | (typeof MANUAL_ACTIONS)[number]
)[];

/** Acknowledges an incident, or makes a plan for all of its members. */
export async function changeIncident(context: PageContext): Promise<Reply> {
  const { deps, id } = context;
  const caller = allow(context, 'operator', 'opsd incidents acknowledge ID --note TEXT');
  const form = await readForm(context, caller);
  const act = buttonOf(form, ACTS);
  const reason = reasonOf(form);
  if (act === 'acknowledge') {
    await acknowledge(deps, id, { by: caller.by, note: reason });
    return goTo(incidentPath(id));
  }
  await deps.incidents.settled();
  const { account, memberIds } = await incidentDetail(deps, findIncident(deps, id));
  const ids = memberIds[act === 'delete-messages' ? 'message' : 'workflow'];
  return makeManualPlan(context, { account, action: act, ids }, { by: caller.by, reason });
}
