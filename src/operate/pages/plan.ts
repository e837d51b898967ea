/** Page of one stored plan, with its decision. */
import type { RunRecord } from '#automate/ledger/reports.ts';
import { counted, runNumbersText } from '#foundation/domain/counted.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import { editOfPlan } from '../api/edited-message.ts';
import { fromLedger } from '../api/from-store.ts';
import { refusedError } from '../api/implement.ts';
import { readPlan } from '../api/stored-plans.ts';
import { coverText, foundBy } from '#foundation/domain/plan.ts';
import { allow, mayUse } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { decisionForm, takeBackForm } from './next-action.ts';
import { buttonOf, folded, MAX_REASON, reasonOf, textOf } from './frame/fields.ts';
import { goTo, pageCommand, showPage, withCommands, type PageContext } from './frame/page.ts';
import { planPath } from '../contract/page-paths.ts';
import { policyLink } from '../show/policy-link.ts';
import { haltForms, liftForm, pauseForm } from './pauses.ts';
import { canApply, planMain, progressPart } from './plan-parts.ts';
import {
  blockText,
  type Cell,
  code,
  facts,
  faint,
  idLink,
  idText,
  moment,
  section,
  state,
  sub,
  timePiece,
  type Tone,
} from '#foundation/markup/cell.ts';
import { diffOf } from '../show/diff.ts';
import { stepsText } from '../show/plan.ts';
import { actText, CONSEQUENCE } from '../show/plan-acts.ts';
import { clipped, html } from '#foundation/markup/html.ts';
import type { StoredPlanDetail } from '../contract/plans.ts';

export async function planPage(context: PageContext): Promise<Reply> {
  const { deps, id } = context;
  const at = deps.clock.now();
  const [found, pauses, runs] = await fromLedger(context, async (ledger) => {
    const plan = await readPlan(id, { ledger, at, engine: deps.engine });
    const isUndecided = plan !== undefined && isOpen(plan) && plan.origin === 'policy';
    const earlier = isUndecided ? await ledger.runs({ policy: plan.policy, limit: MOST_RUNS }) : [];
    return [plan, await ledger.pauses(), earlier] as const;
  });
  if (found === undefined) {
    const message = `Plan ${id.slice(0, 80)} does not exist. Plans are made on the page of a policy, and expire.`;
    throw new HttpError(404, 'unknown_plan', message);
  }
  const detail = withCommands(context, found);
  const edit = mayUse(context, 'operator') ? await editOfPlan(context, detail.plan) : undefined;
  const diff =
    edit && section('edit', 'Edit', blockText(diffOf(edit.before, edit.after) ?? 'The texts are too long to compare.'));
  const main = isOpen(detail)
    ? [decision(context, detail, runs), diff, planMain(detail.plan), folded('Details', head(detail, at))]
    : [
        head(detail, at),
        detail.state === 'approved' &&
          detail.origin === 'policy' &&
          html`<div class="acts">${takeBackForm(context, detail)}</div>`,
        progressPart(detail, at),
        progressForms(context, detail, pauses),
        diff,
        section('planned', 'As it was planned', [
          faint(
            'What was read and decided at ',
            timePiece(detail.plan.at),
            '. Each run reads again and checks all guards.',
          ),
          planMain(detail.plan, 'h3'),
        ]),
      ];
  return showPage(context, {
    title: `Plan ${detail.id}`,
    ...(isOpen(detail) && { heading: question(detail), lead: origin(detail) }),
    section: '/policies',
    main,
  });
}

/** Runs of the policy that are searched for its last actions. */
const MOST_RUNS = 50;

function isOpen({ state: now }: Pick<StoredPlanDetail, 'state'>): boolean {
  return now === 'pending' || now === 'draft';
}

/** `Resume 12 runs of production?` A held plan has nothing to do now. */
function question({ id, plan }: StoredPlanDetail): Cell {
  if (plan.chosen.length === 0) return `Plan ${id}`;
  const act = actText({ ...plan, backlog: 0 });
  return `${act.slice(0, 1).toUpperCase()}${act.slice(1)}?`;
}

function origin({ id, state: now, policy, account, plan: { manual } }: StoredPlanDetail): Cell {
  const by = manual === undefined ? policyLink(policy) : clipped(`${manual.by}: ${manual.reason}`);
  return [
    state(STATES[now][0], now),
    now === 'draft' && `: ${STATES.draft[1]}`,
    ` · plan ${id} of `,
    by,
    ` · ${account}`,
  ];
}

/** What a decision needs: what will happen, in which steps, and what the last run did; then the decision. */
function decision(context: PageContext, detail: StoredPlanDetail, runs: readonly RunRecord[]): Cell {
  const { id, state: now, plan, needsApproval, expiresAt } = detail;
  const at = context.deps.clock.now();
  const acted = runs.find((run) => run.acted > 0);
  const none = runs.length > 0 && `its last ${counted(runs.length, 'run')} did nothing`;
  const form = decisionForm(context, detail, { isAllowed: now === 'pending' || canApply(plan) });
  return [
    facts({
      'What happens': [actText(plan), sub(CONSEQUENCE[plan.action])],
      Steps: stepsText(plan),
      'Asked because':
        now === 'pending' &&
        (needsApproval === undefined
          ? `the mode is ${plan.effectiveMode}`
          : `${needsApproval.guard}: ${foundBy(needsApproval)}`),
      Held: plan.stopped && `${plan.stopped.guard}: ${plan.stopped.reason}`,
      'Last actions of the policy': acted === undefined ? none : [moment(acted.at, at), sub(runNumbersText(acted))],
      Expires: moment(expiresAt, at),
    }),
    html`<div class="acts">
      ${form ?? [code(pageCommand(context)(`${now === 'pending' ? 'approve' : 'apply'} ${id}`)), ' ', code(pageCommand(context)(`reject ${id}`))]}
    </div>`,
  ];
}

const STATES: Readonly<Record<StoredPlanDetail['state'], readonly [tone: Tone, text: string]>> = {
  draft: ['off', 'nothing has been done; apply it to act'],
  pending: ['ask', 'waits for approval'],
  approved: ['busy', 'runs of the policy do its actions'],
  applied: ['ok', 'its run has begun'],
  rejected: ['off', 'nothing is done'],
  cancelled: ['off', 'an operator ended it; nothing more is sent'],
  replaced: ['off', 'a newer plan took its place'],
  expired: ['off', 'too old to act on; make a new one'],
};

function stateText({ state: now, plan, progress }: StoredPlanDetail): string {
  if (now === 'approved' && plan.manual !== undefined) return 'the daemon continues it, step by step';
  return now === 'applied' && progress?.finished === true ? 'nothing more is sent for it' : STATES[now][1];
}

function head(plan: StoredPlanDetail, at: number): Cell {
  const { manual } = plan.plan;
  return facts({
    State: [state(STATES[plan.state][0], plan.state), sub(stateText(plan))],
    ...(manual === undefined
      ? { Policy: [policyLink(plan.policy), sub(plan.account)] }
      : { 'Made by': [manual.by, sub(manual.reason)] }),
    Action: [plan.action, sub(coverText(plan))],
    Made: moment(plan.savedAt, at),
    [plan.state === 'approved' ? 'Approved until' : 'Expires']:
      ['draft', 'pending', 'approved'].includes(plan.state) && moment(plan.expiresAt, at),
    'Approved by': plan.approvedBy !== undefined && [
      plan.approvedBy,
      sub(plan.state === 'approved' && plan.reason),
      ' ',
      moment(plan.approvedAt, at),
    ],
    Held: plan.held && `${plan.held.guard}: ${plan.held.reason}`,
    'Replaced by': plan.replacedBy && idLink(planPath(plan.replacedBy), plan.replacedBy),
    By: plan.by !== undefined && plan.state !== 'approved' && [plan.by, sub(plan.reason)],
    Hash: idText(plan.hash),
  });
}

const DECISIONS = ['approve', 'reject', 'apply', 'cancel'] as const;

/** Forms of a manual plan in progress. */
function progressForms(
  context: PageContext,
  { id, policy, state: now, progress, origin }: StoredPlanDetail,
  pauses: readonly Pause[],
): Cell {
  if (origin === 'policy' || progress === undefined || now !== 'approved') return undefined;
  // A pause of all policies is lifted on the first page.
  const isPaused = pauses.some(({ scope }) => scope === `policy/${policy}`);
  const pause = isPaused ? liftForm(context, policy) : pauseForm(context, policy, 'plan');
  return html`<div class="acts">
    ${takeBackForm(context, { id, policy })} ${pause} ${haltForms(context, policy, progress.campaigns)}
  </div>`;
}

/** Approves, rejects or applies a plan. Applying lasts until the run has ended; closing the page stops the run. */
export async function decidePlan(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const caller = allow(context, 'operator', 'opsd approve PLAN');
  const form = await readForm(context, caller);
  const act = buttonOf(form, DECISIONS);
  if (act === 'cancel') {
    const cancelled = await deps.engine.cancel(id, { by: caller.by, reason: reasonOf(form) });
    if (!cancelled.ok) throw refusedError(cancelled);
    return goTo(planPath(id));
  }
  const person = { by: caller.by, reason: textOf(form, 'reason')?.slice(0, MAX_REASON) };
  if (act === 'apply') context.mayTakeLong();
  const done = act === 'apply' ? await deps.engine.apply(id, person, signal) : await deps.engine[act](id, person);
  if (!done.ok) throw refusedError(done);
  return goTo(planPath(id));
}
