/** Page of one policy: mode, what holds it, its plans and runs; with the dry run, the pause and its end. */
import { runNumbersText } from '#foundation/domain/counted.ts';
import { allowedOf, type Plan } from '#foundation/domain/plan.ts';
import { requirePolicy } from '../api/command-routes.ts';
import { refusedError } from '../api/implement.ts';
import { counted } from '../api/format.ts';
import type { PolicyDetail } from '../contract/policies.ts';
import type { PolicyTestResults } from '../api/reading-ports.ts';
import { requestedPolicy } from '../api/reading-routes.ts';
import { allow, mayUse } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import type { Reply } from '../http/reply.ts';
import { buttonOf, MAX_REASON, reasonInput, textOf } from './frame/fields.ts';
import { formFor, goTo, showPage, withCommands, type PageContext } from './frame/page.ts';
import { activeConditions, pendingPlans } from './page-policies.ts';
import { campaigns } from '../show/campaigns.ts';
import { planPath } from '../contract/page-paths.ts';
import { haltForms, liftForm, pauseForm } from './pauses.ts';
import { canApply, planMain } from './plan-parts.ts';
import { lastRuns, modeOf, pendingTrigger, RUN_TONE, type ShownRun } from './policies.ts';
import {
  blockText,
  type Cell,
  facts,
  idLink,
  idText,
  moment,
  section,
  state,
  sub,
  table,
  wide,
} from '#foundation/markup/cell.ts';
import { clipped, html, long } from '#foundation/markup/html.ts';

/** Maximum number of runs in the table. */
const MOST_ROWS = 20;

export async function policyPage(context: PageContext): Promise<Reply> {
  const { deps, id, query } = context;
  const detail = withCommands(context, await requestedPolicy(context));
  const { policy, at, pauses, plans } = detail;
  const isPaused = pauses.some(({ scope }) => scope === `policy/${policy.name}`);
  const pending = plans.filter((plan) => plan.state === 'pending');
  const approvals = plans.filter((plan) => plan.state === 'approved');
  // Tests cost CPU time, so an anonymous reader cannot start them.
  const canTest = mayUse(context, 'operator');
  const hasTests = canTest && query.get('tests') === 'run';
  return showPage(context, {
    title: policy.name,
    ...(hasTests && { isStill: true as const }),
    windowTitle: `Policy ${policy.name}`,
    section: '/policies',
    main: html`${policyFacts(detail)}
    ${
      mayUse(context, 'operator') &&
      html`<div class="acts">
        ${dryRunForm(context)} ${isPaused ? liftForm(context, policy.name) : pauseForm(context, policy.name)}
        ${haltForms(context, policy.name, policy.campaigns)}
      </div>`
    }
    ${activeConditions({ ...detail, plans: pending, approvals }, context)}
    ${pendingPlans({ plans: pending, at }, context)} ${campaigns(policy.campaigns, at)} ${versions(detail)}
    ${section('tests', 'Policy tests', hasTests ? testResults(await deps.policyTests(id)) : testsLink(id, canTest))}
    ${section('runs', 'Last runs', runsTable(detail.runs.slice(0, MOST_ROWS), at))}`,
  });
}

/** Settings that differ from those of the last run. */
function versions({ versions: both }: PolicyDetail): Cell {
  if (both?.changed === undefined || both.changed.length === 0) return undefined;
  return section(
    'versions',
    'Changes since the last run',
    table<string>({
      caption: 'Settings that decide what the policy is allowed to act on.',
      rows: both.changed,
      empty: '',
      columns: {
        Setting: wide((path) => html`<code>${path}</code>`),
        'At the last run': wide((path) => settingAt(both.atLastRun, path)),
        Now: wide((path) => settingAt(both.present, path)),
      },
    }),
  );
}

function testsLink(policy: string, canTest: boolean): Cell {
  if (!canTest) return html`<p class="empty">An operator can run the tests of this policy here.</p>`;
  return html`<p>
    <a href="/policies/${encodeURIComponent(policy)}?tests=run#tests">Run the tests</a>
    <span class="faint">They need no service and change nothing.</span>
  </p>`;
}

function testResults(results: PolicyTestResults | undefined): Cell {
  if (results === undefined) {
    return html`<p class="empty">
      This policy has no tests. The daemon looks for them beside the file of the policy:
      <code>billing_test.yaml</code> beside <code>billing.yaml</code>.
    </p>`;
  }
  if (results.problems !== undefined) return blockText(results.problems);
  return table<PolicyTestResults['tests'][number]>({
    caption: `Tests of this policy in ${clipped(results.file)}.`,
    rows: results.tests,
    empty: 'No test in this file runs the policy.',
    columns: {
      Test: wide((row) => [row.name, sub(`line ${row.line}`)]),
      Result: (row) => (row.failed === undefined ? state('ok', 'passed') : state('trouble', 'failed')),
      Difference: wide((row) => row.failed),
    },
  });
}

function settingAt(scope: unknown, path: string): string | undefined {
  let value = scope;
  for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
  return value === undefined ? undefined : JSON.stringify(value);
}

function policyFacts({ policy, runs, at }: PolicyDetail): Cell {
  const { action, account, description, held, schedule, nextRunAt, owner, source } = policy;
  return [
    description !== undefined && html`<p>${long(description)}</p>`,
    facts({
      Mode: modeOf(policy),
      Action: [action, sub(account)],
      'Last runs': lastRuns(policy, runs, at),
      Held: held && `${held.guard}: ${held.reason}`,
      'Next run': [moment(nextRunAt, at), sub(schedule), pendingTrigger(policy, at)],
      Owner: owner,
      'Defined in': idText(source),
    }),
  ];
}

function dryRunForm(context: PageContext): Cell {
  return formFor(context, {
    role: 'operator',
    action: `/policies/${encodeURIComponent(context.id)}`,
    label: 'Dry run',
    content: html`<button name="act" value="show">Make a plan</button>
      <span class="faint">Reads the service and changes nothing. It can take a minute.</span>`,
  });
}

const PLAN_ACTS = ['show', 'keep', 'apply'] as const;

/** Makes a plan and shows it. An operator who acts on it keeps it: the entries may have changed since they were shown. */
export async function dryRun(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const caller = allow(context, 'operator', 'opsd plan POLICY');
  const form = await readForm(context, caller);
  const act = buttonOf(form, PLAN_ACTS);
  await requirePolicy(deps, id);
  context.mayTakeLong();
  const made = await deps.engine.plan(id, { by: caller.by, keep: act !== 'show' }, signal);
  if (!made.ok) throw refusedError(made);
  const { plan } = made;
  if (act === 'show' || plan.id === undefined) return unkept(context, plan);
  if (act === 'apply' && plan.hash === form.get('hash')) {
    const reason = textOf(form, 'reason')?.slice(0, MAX_REASON);
    const done = await deps.engine.apply(plan.id, { by: caller.by, reason }, signal);
    if (!done.ok) throw refusedError(done);
  }
  return goTo(planPath(plan.id));
}

/** Page of a plan that is not always stored. */
export function unkept(context: PageContext, plan: Plan): Reply {
  const notice =
    plan.id === undefined
      ? 'Nothing was changed or stored.'
      : html`The same plan is stored: ${idLink(planPath(plan.id), plan.id)}. Decide on it there.`;
  return showPage(context, {
    title: `Plan of ${plan.policy}`,
    section: '/policies',
    isStill: true,
    main: html`<p class="notice info">${notice}</p>
      ${plan.id === undefined && keepForm(context, plan)} ${planMain(withCommands(context, plan))}`,
  });
}

function keepForm(context: PageContext, plan: Plan): Cell {
  if (plan.manual !== undefined || allowedOf(plan) === 0) return undefined;
  const acts = counted(plan.chosen.length + plan.backlog, 'action');
  const form = formFor(context, {
    role: 'operator',
    action: `/policies/${encodeURIComponent(plan.policy)}`,
    label: 'Decision',
    content: html`<input type="hidden" name="hash" value="${plan.hash}" />${reasonInput(false)}
      ${canApply(plan) && html`<button name="act" value="apply">Apply ${acts}</button>`}
      <button name="act" value="keep" class="quiet">Keep it for an hour</button>
      <span class="faint">If the entries have changed since, nothing is applied: the new plan is shown.</span>`,
  });
  return form && html`<div class="acts">${form}</div>`;
}

function runsTable(runs: readonly ShownRun[], at: number): Cell {
  return table<ShownRun>({
    caption: 'Newest first.',
    rows: runs,
    empty: 'No run so far. Each run of this policy appears here with its outcome.',
    columns: {
      Time: (row) => moment(row.at, at),
      Trigger: (row) => row.trigger,
      Outcome: (row) => state(RUN_TONE[row.outcome], row.outcome.replaceAll('_', ' ')),
      Entries: wide(runNumbersText),
      Reason: wide((row) => row.detail),
    },
  });
}
