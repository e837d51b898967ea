/** Active approvals: the form that takes one back, the same on every page that shows its plan, policy or incident. */
import { commandOfAction, takeBack } from '../situation/next-step.ts';
import { commandOf, formFor, type PageContext } from './frame/page.ts';
import { html, type Html } from './html.ts';
import { reasonInput } from './page-parts.ts';
import { planPath } from './paths.ts';

/** Form that takes an approval back; for readers without the role, its command. */
export function takeBackForm(context: PageContext, approval: { readonly id: string; readonly policy: string }): Html {
  const action = takeBack(approval);
  const isManual = action.kind === 'cancel';
  const title = isManual ? 'Cancel the rest' : 'Take the approval back';
  const form = formFor(context, {
    role: 'operator',
    action: planPath(approval.id),
    label: `${title} of plan ${approval.id}`,
    content: html`${reasonInput(isManual)} <button name="act" value="${action.kind}" class="danger">${title}</button>`,
  });
  if (form === undefined)
    return html`<code>${commandOf(context)(commandOfAction(action).replace(/^opsd /, ''))}</code>`;
  return html`<details class="more">
    <summary>${title}</summary>
    ${form}
  </details>`;
}
