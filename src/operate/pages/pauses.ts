/** Pauses: the forms on several pages, and their routes. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { requirePolicy, groupNamed } from '../api/command-routes.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import { folded, reasonInput, reasonOf, textOf } from './frame/fields.ts';
import { formFor, goTo, type PageContext, type PageRoute } from './frame/page.ts';
import { policyPath } from '../contract/page-paths.ts';
import type { Reply } from '../http/reply.ts';
import { faint, type Cell, type Html } from '#foundation/markup/cell.ts';
import { clipped, html } from '#foundation/markup/html.ts';

export const PAUSE_ROUTES: readonly PageRoute[] = [
  { path: '/pauses/add', method: 'POST', hasForm: true, handle: pause },
  { path: '/pauses/lift', method: 'POST', hasForm: true, handle: lift },
];

/** Form that pauses all policies, or one. @param kind a manual plan is a policy for the engine, not for readers */
export function pauseForm(context: PageContext, policy?: string, kind = 'policy'): Cell {
  const title = policy === undefined ? 'Pause all policies' : `Pause this ${kind}`;
  const form = formFor(context, {
    role: 'operator',
    action: '/pauses/add',
    label: title,
    content: html`${hiddenPolicy(policy)} ${reasonInput()} <button class="danger">${title}</button>`,
  });
  const note =
    policy === undefined
      ? 'No policy acts until someone lifts the pause. The daemon continues to read and report.'
      : `The ${kind} does not act until someone lifts the pause.`;
  return form && folded(title, [faint(note), form]);
}

/** Form that lifts every pause, or those of one policy with the halts of its groups. */
export function liftForm(context: PageContext, policy?: string, group?: string): Html | undefined {
  const title = policy === undefined ? 'Lift all pauses' : group === undefined ? 'Lift the pause' : 'Lift the halt';
  const name = group === '' ? 'all' : clipped(group ?? '');
  return formFor(context, {
    role: 'admin',
    action: '/pauses/lift',
    label: group === undefined ? title : `${title} of ${name}`,
    content: html`${hiddenPolicy(policy)}
      ${group !== undefined && html`<input type="hidden" name="group" value="${group}" /><span class="wide">halted: ${name}</span>`}
      ${reasonInput()} <button>${title}</button>`,
  });
}

/** Forms that lift the halts of groups, one for each. */
export function haltForms(
  context: PageContext,
  policy: string,
  campaigns: readonly Pick<Campaign, 'group' | 'state'>[],
): Cell {
  return campaigns
    .filter(({ state }) => state === 'halted' || state === 'audit')
    .map(({ group }) => liftForm(context, policy, group));
}

function hiddenPolicy(policy: string | undefined): Cell {
  return policy === undefined ? undefined : html`<input type="hidden" name="policy" value="${policy}" />`;
}

async function pause(context: PageContext): Promise<Reply> {
  const caller = allow(context, 'operator', 'opsd pause --reason TEXT');
  const form = await readForm(context, caller);
  const policy = textOf(form, 'policy');
  const reason = reasonOf(form);
  await requirePolicy(context.deps, policy);
  await context.deps.engine.pause({ reason, by: caller.by, ...(policy !== undefined && { policy }) });
  return goTo(policy === undefined ? '/' : policyPath(policy));
}

async function lift(context: PageContext): Promise<Reply> {
  const caller = allow(context, 'admin', 'opsd unpause --reason TEXT');
  const form = await readForm(context, caller);
  const policy = textOf(form, 'policy');
  const group = form.get('group');
  const reason = reasonOf(form);
  await requirePolicy(context.deps, policy);
  await context.deps.engine.unpause({
    reason,
    by: caller.by,
    ...(policy !== undefined && { policy }),
    ...(policy !== undefined && group !== null && { group: await groupNamed(context.deps, policy, group) }),
  });
  return goTo(policy === undefined ? '/' : policyPath(policy));
}
