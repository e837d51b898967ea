/** Page of one policy: mode, what holds it, its plans and runs; with the dry run, the pause and its end. */
import { unknownPolicy } from '#foundation/domain/unknown-policy.ts';
import { requirePolicy } from '../api/command-routes.ts';
import { fromStore } from '../api/from-store.ts';
import { refused } from '../api/refusals.ts';
import { formatCount } from '../api/format.ts';
import { readPolicyDetail, type PolicyDetail } from '../api/policy-detail.ts';
import type { PolicyView, RunView } from '../api/status-views.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { commandOf, formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { html, type Html } from './html.ts';
import { activeConditions, campaigns, pendingPlans } from './page-policies.ts';
import { facts, moment, section, state, sub } from './page-parts.ts';
import { planPath } from './paths.ts';
import { liftForm, pauseForm } from './pauses.ts';
import { planMain } from './plan-parts.ts';
import { modeOf, outcomeOf, pendingTrigger, RUN_TONE } from './policies.ts';
import { table } from './table.ts';

export function policyPage(context: PageContext): Reply {
  const { deps, id } = context;
  const found = fromStore(() => readPolicyDetail(deps, id));
  if (found === undefined) {
    const known = deps.policies().map(({ name }) => name);
    throw new HttpError(404, 'unknown_policy', unknownPolicy(id, known));
  }
  const detail = withCommands(context, found);
  const { policy, at, pauses, plans } = detail;
  const isPaused = pauses.some(({ scope }) => scope === `policy/${policy.name}`);
  const pending = plans.filter((plan) => plan.state === 'pending');
  return showPage(context, {
    title: policy.name,
    windowTitle: `Policy ${policy.name}`,
    section: '/policies',
    main: html`${policyFacts(policy, at)}
      <div class="acts">
        ${dryRunForm(context)} ${isPaused ? liftForm(context, policy.name) : pauseForm(context, policy.name)}
      </div>
      ${activeConditions({ ...detail, plans: pending }, commandOf(context))}
      ${pendingPlans({ plans: pending, at }, commandOf(context))} ${campaigns([policy], at)} ${versions(detail)}
      ${section('runs', 'Last runs', runsTable(detail.runs, at))}`,
  });
}

/** Settings that differ from those of the last run. */
function versions({ versions: both }: PolicyDetail): Html | undefined {
  if (both?.changed === undefined || both.changed.length === 0) return undefined;
  return section(
    'versions',
    'Changes since the last run',
    table<string>({
      caption: 'Settings that decide what the policy is allowed to act on.',
      rows: both.changed,
      empty: '',
      columns: [
        { title: 'Setting', wide: true, cell: (path) => html`<code>${path}</code>` },
        { title: 'At the last run', wide: true, cell: (path) => settingAt(both.atLastRun, path) },
        { title: 'Now', wide: true, cell: (path) => settingAt(both.present, path) },
      ],
    }),
  );
}

function settingAt(scope: unknown, path: string): string | undefined {
  let value = scope;
  for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
  return value === undefined ? undefined : JSON.stringify(value);
}

function policyFacts(policy: PolicyView, at: number): Html {
  return html`${policy.description !== undefined && html`<p>${policy.description}</p>`}
  ${facts([
    { name: 'Mode', value: modeOf(policy) },
    { name: 'Action', value: [policy.action, sub(policy.account)] },
    { name: 'Last run', value: policy.lastRun && [moment(policy.lastRun.at, at), outcomeOf(policy, at)] },
    { name: 'Held', value: policy.held && `${policy.held.guard}: ${policy.held.reason}` },
    { name: 'Next run', value: [moment(policy.nextRunAt, at), sub(policy.schedule), pendingTrigger(policy, at)] },
    { name: 'Owner', value: policy.owner },
    { name: 'Defined in', value: html`<span class="id">${policy.source}</span>` },
  ])}`;
}

function dryRunForm(context: PageContext): Html | undefined {
  return formFor(context, {
    role: 'operator',
    action: `/policies/${encodeURIComponent(context.id)}`,
    label: 'Dry run',
    content: html`<button>Make a plan</button>
      <span class="faint">Reads the service and changes nothing. It can take a minute.</span>`,
  });
}

/** Makes a plan. One that could be applied has its own page; another one is shown here. */
export async function dryRun(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const caller = allow(context, 'operator', 'opsd plan POLICY');
  await readForm(context, caller);
  requirePolicy(deps, id);
  context.mayTakeLong();
  const made = await deps.engine.plan(id, { by: caller.by, save: true }, signal);
  if (!made.ok) throw refused(made);
  const { plan } = made;
  if (deps.ledger.storedPlan(plan.id, deps.clock.now()) !== undefined) return goTo(planPath(plan.id));
  return showPage(context, {
    title: `Plan of ${plan.policy}`,
    section: '/policies',
    isStill: true,
    main: html`<p class="notice info">Nothing to apply: this plan was not stored.</p>
      ${planMain(withCommands(context, plan))}`,
  });
}

type Run = Omit<RunView, 'policy' | 'account'>;

function runsTable(runs: readonly Run[], at: number): Html {
  return table<Run>({
    caption: 'Newest first.',
    rows: runs,
    empty: 'No run so far. Each run of this policy appears here with its outcome.',
    columns: [
      { title: 'Time', cell: (row) => moment(row.at, at) },
      { title: 'Trigger', cell: (row) => row.trigger },
      { title: 'Outcome', cell: (row) => state(RUN_TONE[row.outcome], row.outcome.replaceAll('_', ' ')) },
      { title: 'Matched', align: 'number', cell: (row) => formatCount(row.matched) },
      { title: 'Acted on', align: 'number', cell: (row) => formatCount(row.acted) },
      { title: 'Left', align: 'number', cell: (row) => formatCount(row.backlog) },
      { title: 'Reason', wide: true, cell: (row) => row.detail },
    ],
  });
}
