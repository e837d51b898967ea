/** Page of one stored plan, with its decision. */
import { fromStore } from '../api/from-store.ts';
import { refused } from '../api/refusals.ts';
import type { PlanProgress } from '../api/plan-progress.ts';
import { storedPlanDetail, type StoredPlanDetail } from '../api/stored-plans.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { formatCount } from '../api/format.ts';
import { buttonOf, textOf } from './frame/fields.ts';
import { formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { html, type Html } from './html.ts';
import { policyLink } from './page-policies.ts';
import { facts, moment, reasonInput, state, sub, type Tone } from './page-parts.ts';
import { planPath } from './paths.ts';
import { planMain } from './plan-parts.ts';

export function planPage(context: PageContext): Reply {
  const { deps, id } = context;
  const at = deps.clock.now();
  const found = fromStore(() => deps.ledger.storedPlan(id, at));
  if (found === undefined) {
    const message = `Plan ${id.slice(0, 80)} does not exist. Plans are made on the page of a policy, and expire.`;
    throw new HttpError(404, 'unknown_plan', message);
  }
  const detail = withCommands(context, storedPlanDetail(found, deps));
  return showPage(context, {
    title: `Plan ${detail.id}`,
    section: '/policies',
    main: html`${head(detail, at)} ${decision(context, detail)} ${planMain(detail.plan)}`,
  });
}

const STATE_TONE: Readonly<Record<StoredPlanDetail['state'], Tone>> = {
  draft: 'off',
  pending: 'attention',
  approved: 'ok',
  applied: 'ok',
  rejected: 'off',
  cancelled: 'off',
  expired: 'off',
};

const STATE_TEXT: Readonly<Record<StoredPlanDetail['state'], string>> = {
  draft: 'nothing has been done; apply it to act',
  pending: 'waits for approval',
  approved: 'runs of the policy do its actions',
  applied: 'its run has begun; the page of the policy shows the outcome',
  rejected: 'nothing is done',
  cancelled: 'an operator ended it; nothing more is sent',
  expired: 'too old to act on; make a new one',
};

function head(plan: StoredPlanDetail, at: number): Html {
  return facts([
    { name: 'State', value: [state(STATE_TONE[plan.state], plan.state), sub(STATE_TEXT[plan.state])] },
    plan.plan.manual === undefined
      ? { name: 'Policy', value: [policyLink(plan.policy), sub(plan.account)] }
      : { name: 'Made by', value: [plan.plan.manual.by, sub(plan.plan.manual.reason)] },
    { name: 'Progress', value: plan.progress !== undefined && progressText(plan.progress) },
    {
      name: 'Action',
      value: [plan.action, sub(`${formatCount(plan.covers)} ${plan.covers === 1 ? 'action' : 'actions'}`)],
    },
    { name: 'Made', value: moment(plan.savedAt, at) },
    { name: 'Expires', value: ['draft', 'pending'].includes(plan.state) && moment(plan.expiresAt, at) },
    { name: 'By', value: plan.by !== undefined && [plan.by, sub(plan.reason)] },
    { name: 'Hash', value: html`<span class="id">${plan.hash}</span>` },
  ]);
}

function progressText({ state: now, sent, verified, failedAgain, unknown, left }: PlanProgress): string {
  const rest = left === undefined ? '' : `, ${formatCount(left)} left`;
  const results = `${formatCount(verified)} verified, ${formatCount(failedAgain)} failed again, ${formatCount(unknown)} unknown`;
  return `${now}: ${formatCount(sent)} sent, ${results}${rest}`;
}

const DECISIONS = ['approve', 'reject', 'apply'] as const;

function decision(context: PageContext, { id, state: now, covers, plan }: StoredPlanDetail): Html | undefined {
  if (now !== 'pending' && now !== 'draft') return undefined;
  const acts = `${formatCount(covers)} ${covers === 1 ? 'action' : 'actions'}`;
  const verb = now === 'pending' ? 'approve' : 'apply';
  const may = now === 'pending' || (plan.state === 'changes' && ['enforce', 'approve'].includes(plan.effectiveMode));
  const form = formFor(context, {
    role: 'operator',
    action: planPath(id),
    label: 'Decision',
    content: html`${reasonInput(false)}
      ${
        may &&
        html`<button name="act" value="${verb}">${verb === 'approve' ? `Approve ${acts}` : `Apply ${acts}`}</button>`
      } <button name="act" value="reject" class="quiet">Reject</button>`,
  });
  return form && html`<div class="acts">${form}</div>`;
}

/** Approves, rejects or applies a plan. Applying lasts until the run has ended; closing the page stops the run. */
export async function decide(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const caller = allow(context, 'operator', 'opsd approve PLAN');
  const form = await readForm(context, caller);
  const act = buttonOf(form, DECISIONS);
  const reason = textOf(form, 'reason')?.slice(0, 500);
  const person = { by: caller.by, ...(reason !== undefined && { reason }) };
  if (act === 'apply') context.mayTakeLong();
  const done = act === 'apply' ? await deps.engine.apply(id, person, signal) : await deps.engine[act](id, person);
  if (!done.ok) throw refused(done);
  return goTo(planPath(id));
}
