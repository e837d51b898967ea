/** Forms of next steps, the same on every page: decisions about plans, lifted pauses and halts, plans of policies. */
import { counted } from '../api/format.ts';
import type { StoredPlanView } from '../contract/plans.ts';
import { commandOfAction, takeBack, type NextAction } from '../situation/next-step.ts';
import { mayUse } from '../http/access.ts';
import { folded, reasonInput } from './frame/fields.ts';
import { pageCommand, formFor, type PageContext } from './frame/page.ts';
import { planPath, policyPath } from '../contract/page-paths.ts';
import { liftForm } from './pauses.ts';
import type { Cell, Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

type Decided = Pick<StoredPlanView, 'id' | 'state' | 'covers' | 'policy'>;

/**
 * Action as a form or a button; for readers without the role, its command.
 * @param plans of which the action may name one
 */
export function actionPart(context: PageContext, action: NextAction, plans: readonly Decided[] = []): Cell {
  return buttonsOf(context, action, plans) ?? commandPart(context, action);
}

function commandPart(context: PageContext, action: NextAction): Cell {
  return html`<code>${pageCommand(context)(commandOfAction(action).replace(/^opsd /, ''))}</code>`;
}

function buttonsOf(context: PageContext, action: NextAction, plans: readonly Decided[]): Html | undefined {
  if (!mayUse(context, 'operator')) return undefined;
  const plan = 'plan' in action ? plans.find(({ id }) => id === action.plan) : undefined;
  switch (action.kind) {
    case 'approve':
    case 'apply':
      return plan && decisionForm(context, plan);
    case 'reject':
    case 'cancel':
      return plan && folded('Take the approval back', takeBackForm(context, plan));
    case 'plan':
      return html`<a class="button" href="${policyPath(action.policy)}">Open ${action.policy}</a>`;
    case 'unpause': {
      const form = liftForm(context, action.policy, action.group);
      return form && folded('Lift it', form);
    }
    case 'resume':
      return undefined;
  }
}

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
  return form ?? commandPart(context, action);
}

/** Form that approves a pending plan or applies a draft, or rejects it. Readers without the role see none. */
export function decisionForm(
  context: PageContext,
  { id, state, covers }: Pick<Decided, 'id' | 'state' | 'covers'>,
  { isAllowed = true, isShort = false } = {},
): Html | undefined {
  const verb = state === 'pending' ? 'approve' : 'apply';
  const title = verb === 'approve' ? 'Approve' : 'Apply';
  return formFor(context, {
    role: 'operator',
    action: planPath(id),
    label: `Plan ${id}`,
    content: html`${!isShort && reasonInput(false)}
      ${isAllowed && html`<button name="act" value="${verb}">${isShort ? title : `${title} ${counted(covers, 'action')}`}</button>`}
      <button name="act" value="reject" class="quiet">Reject</button>`,
  });
}
