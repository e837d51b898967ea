/** Decisions about plans: forms that are the same on every page that shows a plan, its policy or its incident. */
import { counted } from '../api/format.ts';
import type { StoredPlanView } from '../contract/plans.ts';
import { commandOfAction, takeBack } from '../situation/next-step.ts';
import { mayUse } from '../http/access.ts';
import { reasonInput } from './frame/fields.ts';
import { pageCommand, formFor, type PageContext } from './frame/page.ts';
import { planPath } from '../contract/page-paths.ts';
import type { Cell, Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

/** Form that takes an approval back; for readers without the role, its command. */
export function takeBackForm(context: PageContext, approval: { readonly id: string; readonly policy: string }): Cell {
  const action = takeBack(approval);
  const isManual = action.kind === 'cancel';
  const title = isManual ? 'Cancel the rest' : 'Take the approval back';
  const form = formFor(context, {
    role: 'operator',
    action: planPath(approval.id),
    label: `${title} of plan ${approval.id}`,
    content: html`${reasonInput(isManual)} <button name="act" value="${action.kind}" class="danger">${title}</button>`,
  });
  return form ?? html`<code>${pageCommand(context)(commandOfAction(action).replace(/^opsd /, ''))}</code>`;
}

/** The same form, folded for a cell of a table. */
export function foldedTakeBack(context: PageContext, approval: Parameters<typeof takeBackForm>[1]): Cell {
  const form = takeBackForm(context, approval);
  if (!mayUse(context, 'operator')) return form;
  return html`<details class="more">
    <summary>Take the approval back</summary>
    ${form}
  </details>`;
}

/** Form that approves a pending plan or applies a draft, or rejects it. Readers without the role see none. */
export function decisionForm(
  context: PageContext,
  plan: Pick<StoredPlanView, 'id' | 'state' | 'covers'>,
  isAllowed = true,
): Html | undefined {
  const verb = plan.state === 'pending' ? 'approve' : 'apply';
  const title = `${verb === 'approve' ? 'Approve' : 'Apply'} ${counted(plan.covers, 'action')}`;
  return formFor(context, {
    role: 'operator',
    action: planPath(plan.id),
    label: 'Decision',
    content: html`${reasonInput(false)} ${isAllowed && html`<button name="act" value="${verb}">${title}</button>`}
      <button name="act" value="reject" class="quiet">Reject</button>`,
  });
}
