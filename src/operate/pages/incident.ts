/** Page of one incident: what fails, who repairs it, the next step, and the forms for it. */
import type { MANUAL_ACTIONS } from '#foundation/domain/selection.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { counted, formatCount } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { acknowledge } from '../api/incident-routes.ts';
import { findIncident, incidentDetail, readIncident } from '../api/incident-views.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import type { Reply } from '../http/reply.ts';
import { foldedTakeBack } from './approvals.ts';
import { buttonOf, reasonOf } from './frame/fields.ts';
import { commandOf, formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { firstFailure, incidentState, knownCount, rate } from './incidents.ts';
import { makeManualPlan } from './manual-plan.ts';
import { campaigns, pendingPlans, policyLink } from './page-policies.ts';
import {
  clipped,
  blockText,
  facts,
  idLink,
  idText,
  long,
  moment,
  reasonInput,
  section,
  state,
  sub,
  time,
  withTimes,
} from './page-parts.ts';
import { deadLetterPath, incidentPath, planPath } from './paths.ts';
import { table } from './table.ts';
import type { IncidentDetail } from '../contract/incidents.ts';

export async function incidentPage(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  await deps.incidents.settled();
  const read = await fromStore(() => readIncident(deps, findIncident(deps, id), signal));
  const incident = withCommands(context, read.detail);
  const at = deps.clock.now();
  const own = read.policies.map((policy) => ({
    ...policy,
    campaigns: policy.campaigns.filter((one) => incident.campaigns.some((c) => c.id === one.id)),
  }));
  return showPage(context, {
    title: clipped(incident.title),
    windowTitle: `${incident.state}: ${clipped(incident.title)}`,
    section: '/incidents',
    main: html`<p class="notice info">
        <strong>Next step:</strong> ${withTimes(incident.next.text)}
        ${incident.next.command !== undefined && html`<code>${commandOf(context)(incident.next.command.replace(/^opsd /, ''))}</code>`}
      </p>
      ${incidentFacts(incident, at)} ${forms(context, incident)}
      ${pendingPlans({ plans: incident.plans.filter((plan) => plan.state === 'pending'), at }, commandOf(context))}
      ${otherPlans(context, incident, at)} ${campaigns(own, at)}
      ${section('policies', 'Policies', policies(incident, at))} ${sample(incident)} ${marks(incident)}`,
  });
}

function incidentFacts(incident: IncidentDetail, at: number): Html {
  const { members, destination, deliveries } = incident;
  const memberLink = `/dead-letters?incident=${encodeURIComponent(incident.id)}`;
  return facts([
    { name: 'State', value: incidentState(incident) },
    {
      name: 'Members now',
      value: [
        html`<a href="${memberLink}">${knownCount(members)}</a>`,
        sub(
          `${counted(members.workflow, 'run')}, ${counted(members.message, 'message')}; ${formatCount(members.ever)} ever, ${formatCount(members.expired)} expired`,
        ),
        members.isLowerBound && sub('only known ones; more are possible: no operation lists the message DLQ'),
      ],
    },
    { name: 'First expires', value: moment(incident.firstExpiresAt, at) },
    { name: 'First failure', value: firstFailure(incident, at) },
    { name: 'Last failure', value: moment(incident.lastAt, at) },
    { name: 'Failures over time', value: rate(incident) },
    { name: 'Resolved', value: moment(incident.resolvedAt, at) },
    { name: 'Account', value: incident.account },
    { name: incident.kind === 'destination' ? 'Destination' : 'Workflow', value: incident.place },
    { name: 'Reason', value: [incident.reason, sub(`cause: ${incident.cause}`)] },
    {
      name: 'Destination now',
      value: destination && [
        destination.host,
        sub(
          `${formatCount(destination.delivered)} of ${formatCount(destination.attempts)} attempts succeeded in 15 minutes`,
        ),
      ],
    },
    {
      name: 'Deliveries',
      value:
        deliveries && `${counted(deliveries.failed, 'failed attempt')}, ${counted(deliveries.lost, 'failed message')}`,
    },
    { name: 'Labels', value: counts(incident.labels) },
    { name: 'Flow-control keys', value: counts(incident.flowControlKeys) },
  ]);
}

function counts(rows: IncidentDetail['labels']): HtmlValue {
  return (
    rows.length > 0 &&
    rows.map(({ name, count }) => html`<div>${clipped(name)} <span class="faint">${formatCount(count)}</span></div>`)
  );
}

function forms(context: PageContext, { id, state: now, members, memberIds }: IncidentDetail): Html | undefined {
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

function otherPlans(context: PageContext, { plans }: IncidentDetail, at: number): Html | undefined {
  const rows = plans.filter((plan) => plan.state !== 'pending');
  if (rows.length === 0) return undefined;
  return section(
    'stored-plans',
    'Plans',
    table<IncidentDetail['plans'][number]>({
      caption: 'Plans about members that can still be used.',
      rows,
      empty: '',
      columns: [
        { title: 'Plan', cell: (row) => idLink(planPath(row.id), row.id) },
        { title: 'State', cell: (row) => state(row.state === 'approved' ? 'ok' : 'off', row.state) },
        { title: 'Action', cell: (row) => [html`<span class="nowrap">${row.action}</span>`, sub(coverText(row))] },
        {
          title: 'Members',
          align: 'number',
          cell: (row) => `${formatCount(row.members)} of ${formatCount(row.covers)}`,
        },
        { title: 'Made', cell: (row) => moment(row.savedAt, at) },
        { title: 'By', wide: true, cell: (row) => row.madeBy ?? row.by },
        { title: 'Approval', wide: true, cell: (row) => row.state === 'approved' && approvalCell(context, row, at) },
      ],
    }),
  );
}

function approvalCell(context: PageContext, row: IncidentDetail['plans'][number], at: number): HtmlValue {
  return [`by ${row.approvedBy ?? 'an operator'}, expires `, moment(row.expiresAt, at), foldedTakeBack(context, row)];
}

function policies({ policies: rows, members }: IncidentDetail, at: number): Html {
  return table<IncidentDetail['policies'][number]>({
    caption: 'Policies that select members. The page of a policy makes its plan.',
    rows,
    empty: unselected(members),
    columns: [
      { title: 'Policy', wide: true, cell: (row) => [policyLink(row.name), sub(row.action)] },
      { title: 'Mode', wide: true, cell: (row) => [row.effectiveMode, sub(row.reducedBy)] },
      {
        title: 'Selects',
        align: 'number',
        cell: (row) => `${formatCount(row.selects)} of ${knownCount(members)}`,
      },
      { title: 'Held', wide: true, cell: (row) => row.held && `${row.held.guard}: ${row.held.reason}` },
      { title: 'Next run', cell: (row) => moment(row.nextRunAt, at) },
    ],
  });
}

function unselected({ now, isLowerBound }: IncidentDetail['members']): string {
  if (now > 0)
    return 'No policy selects a known member, so nothing is repaired by itself. Policies appear here when they do.';
  return isLowerBound
    ? 'No dead letter is known, so it is not known whether a policy selects one.'
    : 'No dead letter is left, so there is nothing to select.';
}

function sample({ sample: one }: IncidentDetail): Html | undefined {
  return (
    one &&
    section(
      'sample',
      'Newest member',
      html`<p>${idLink(deadLetterPath(one), one.id)} <span class="faint">${long(one.url)}</span></p>
        ${one.responseText !== undefined && blockText(one.responseText)}`,
    )
  );
}

function marks({ marks: rows }: IncidentDetail): Html | undefined {
  if (rows.length === 0) return undefined;
  return section(
    'marks',
    'Changes of the daemon at this time',
    html`<ul>
      ${rows.map(({ at, kind, detail }) => html`<li>${time(at)} ${kind} ${idText(detail)}</li>`)}
    </ul>`,
  );
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
