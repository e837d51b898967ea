/** Active approvals: the form that takes one back, the same on every page that shows its plan, policy or incident. */
import { commandOfAction, takeBack } from '../situation/next-step.ts';
import { mayUse } from '../http/access.ts';
import { reasonInput } from './frame/fields.ts';
import { pageCommand, formFor, type PageContext } from './frame/page.ts';
import { planPath } from '../show/paths.ts';
import type { Cell } from '../show/cell.ts';
import { html } from '../show/html.ts';

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
