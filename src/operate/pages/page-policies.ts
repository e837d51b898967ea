/** Parts of the page about policies: active conditions, pending plans, policies and campaigns. Pure. */
import type { Condition } from '#automate/ledger/commands.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { formatCount, formatSpan } from '../api/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { moment, state, sub, time, type Tone } from './page-parts.ts';
import type { PolicyView, Status } from '../api/status-views.ts';
import type { StoredPlanView } from '../api/stored-plans.ts';
import { table } from './table.ts';
import { besidesPauses, policyAnchor, CONDITIONS_ANCHOR } from '../api/verdict.ts';

interface ActiveRow {
  readonly tone: Tone;
  readonly word: string;
  readonly about: string;
  readonly summary: string;
  readonly detail: string;
  readonly since: number;
  /** Next command for an operator. */
  readonly command?: string;
}

/** @returns undefined without active conditions */
export function activeConditions(status: Status, command: OwnCommand): Html | undefined {
  const rows = [
    ...status.pauses.map(pauseRow),
    ...besidesPauses(status).map((condition) => conditionRow(condition, status.plans)),
  ];
  if (rows.length === 0) return undefined;
  return html`<section aria-labelledby="${CONDITIONS_ANCHOR}">
    <h2 id="${CONDITIONS_ANCHOR}">Active conditions</h2>
    ${table<ActiveRow>({
      caption: html`Each is reported once when it becomes active and once when it is resolved. To pause all policies:
        <code>${command('pause --reason TEXT')}</code>.`,
      rows,
      empty: '',
      columns: [
        { title: 'Condition', wide: true, cell: (row) => [state(row.tone, row.word), sub(row.about)] },
        { title: 'Since', cell: (row) => moment(row.since, status.at) },
        {
          title: 'Reason',
          wide: true,
          cell: (row) => [row.summary, html`<span class="sub block">${row.detail}</span>`],
        },
        {
          title: 'Next step',
          wide: true,
          cell: (row) => row.command !== undefined && html`<code>${command(row.command)}</code>`,
        },
      ],
    })}
  </section>`;
}

function pauseRow({ scope, reason, at, by }: Status['pauses'][number]): ActiveRow {
  const policy = /^policy\/(.*)$/s.exec(scope)?.[1];
  return {
    tone: by === 'engine' ? 'trouble' : 'off',
    word: 'paused',
    about: policy ?? (scope === 'engine' ? 'every policy' : scope),
    summary: reason,
    detail: by === 'engine' ? 'the daemon paused itself' : `by ${by}`,
    since: at,
    command: `unpause${policy === undefined ? '' : ` --policy ${policy}`} --reason TEXT`,
  };
}

const CONDITION_TONE: Readonly<Record<Condition['severity'], Tone>> = {
  critical: 'trouble',
  warning: 'attention',
  info: 'off',
};

const CONDITION_WORD: Readonly<Record<string, string>> = {
  held: 'held',
  halted: 'halted',
  approval: 'pending approval',
  unknown: 'outcome unknown',
};

function conditionRow(condition: Condition, plans: Status['plans']): ActiveRow {
  const { key, severity, policy, group, summary, detail, since } = condition;
  const [kind = ''] = key.split('/');
  const command = nextCommand(kind, condition, plans);
  return {
    tone: CONDITION_TONE[severity],
    word: CONDITION_WORD[kind] ?? kind,
    about: [policy, group].filter((part) => part !== undefined && part !== '').join(' · '),
    summary,
    detail,
    since,
    ...(command !== undefined && { command }),
  };
}

/** Next command: it shows more, or resolves the condition. */
function nextCommand(kind: string, { policy = 'NAME', group = '' }: Condition, plans: Status['plans']) {
  switch (kind) {
    case 'held':
      return `plan ${policy}`;
    case 'halted':
      return `unpause --policy ${policy} --group ${shellWord(group)} --reason TEXT`;
    case 'approval': {
      const plan = plans.find((one) => one.policy === policy);
      return plan && `approve ${plan.id}`;
    }
    case 'unknown':
      return `audit --policy ${policy} --since 2h`;
    case 'reload':
      return 'reload';
    default:
      return undefined;
  }
}

/** @returns undefined without pending plans */
export function pendingPlans(status: Status, command: OwnCommand): Html | undefined {
  if (status.plans.length === 0) return undefined;
  return html`<section aria-labelledby="plans">
    <h2 id="plans">Pending approvals</h2>
    ${table<StoredPlanView>({
      caption: html`Read a plan before you decide: <code>${command('approve PLAN')}</code> shows it and asks for
        confirmation. Until then it does nothing.`,
      rows: status.plans,
      empty: '',
      columns: [
        { title: 'Plan', cell: (row) => html`<span class="id">${row.id}</span>` },
        { title: 'Policy', wide: true, cell: (row) => [row.policy, sub(row.account)] },
        { title: 'Action', wide: true, cell: (row) => would(row) },
        {
          title: 'Reason',
          wide: true,
          cell: (row) =>
            row.needsApproval === undefined ? 'its mode' : `${row.needsApproval.guard}: ${row.needsApproval.reason}`,
        },
        { title: 'Pending since', cell: (row) => moment(row.savedAt, status.at) },
        { title: 'Expires', cell: (row) => moment(row.expiresAt, status.at) },
        {
          title: 'Decide',
          wide: true,
          cell: ({ id }) => [
            html`<code>${command(`approve ${id}`)}</code><br />`,
            html`<code>${command(`reject ${id}`)}</code>`,
          ],
        },
      ],
    })}
  </section>`;
}

function would({ action, covers, matched }: StoredPlanView): HtmlValue {
  const entries =
    action === 'message-dlq.prune' ? `up to ${formatCount(matched)} messages, without listing them` : undefined;
  const acts = `${formatCount(covers)} ${covers === 1 ? 'action' : 'actions'}`;
  return [html`<span class="nowrap">${action}</span>`, sub(entries ?? acts)];
}

type Campaign = PolicyView['campaigns'][number];

const CAMPAIGN_TONE: Readonly<Record<Campaign['state'], Tone>> = {
  ready: 'ok',
  settling: 'ok',
  halted: 'trouble',
  audit: 'trouble',
  ended: 'off',
};

/** @returns undefined without campaigns */
export function campaigns(status: Status): Html | undefined {
  const rows = status.policies.flatMap((policy) => policy.campaigns);
  if (rows.length === 0) return undefined;
  return html`<section aria-labelledby="campaigns">
    <h2 id="campaigns">Campaigns</h2>
    ${table<Campaign>({
      caption: 'A repair starts with one entry of each group, waits for its outcome, and grows.',
      rows,
      empty: '',
      columns: [
        { title: 'Group', wide: true, cell: (row) => [row.group === '' ? 'all' : row.group, sub(row.policy)] },
        { title: 'State', cell: (row) => state(CAMPAIGN_TONE[row.state], row.state) },
        {
          title: 'Step',
          align: 'number',
          cell: (row) => [String(row.step), html`<span class="sub nowrap">at most ${formatCount(row.size)}</span>`],
        },
        {
          title: 'Verified',
          align: 'number',
          cell: (row) =>
            row.judged > 0 &&
            html`<span class="nowrap">${formatCount(row.verified)} of ${formatCount(row.judged)}</span>`,
        },
        { title: 'Until', wide: true, cell: (row) => until(row, status.at) },
        { title: 'Begun', minor: true, cell: (row) => moment(row.begunAt, status.at) },
      ],
    })}
  </section>`;
}

function until({ state: now, until: at, reason, breaker }: Campaign, asOf: number): HtmlValue {
  if (now === 'audit') return ['an operator lifts it', sub(reason)];
  if (at === undefined) return undefined;
  const what =
    now === 'halted'
      ? breaker === 'half-open' || at <= asOf
        ? 'one entry can be resumed'
        : 'the breaker is open'
      : 'judged';
  return [html`${what} `, moment(at, asOf), sub(now === 'halted' ? reason : undefined)];
}

export function policies(rows: readonly PolicyView[], now: number, command: OwnCommand): Html {
  return table<PolicyView>({
    caption: html`Policies of the configuration. To see what a policy would do now, run
      <code>${command('plan POLICY')}</code>, which changes nothing.`,
    rows,
    rowId: policyAnchor,
    empty: html`No policy is configured: the daemon only reads. Add policies under <code>policies:</code> in the
      configuration. This table then shows their modes, runs and holds.`,
    columns: [
      {
        title: 'Policy',
        wide: true,
        cell: (row) => [
          row.name,
          row.description !== undefined && html`<span class="sub block">${row.description}</span>`,
          html`<span class="sub block">${row.action} · ${row.account} · ${row.source}</span>`,
        ],
      },
      { title: 'Mode', wide: true, cell: mode },
      { title: 'Last run', cell: (row) => (row.lastRun === undefined ? undefined : moment(row.lastRun.at, now)) },
      { title: 'Outcome', wide: true, cell: (row) => outcome(row, now) },
      { title: 'Next run', cell: (row) => [moment(row.nextRunAt, now), sub(row.schedule), pendingTrigger(row, now)] },
      { title: 'Owner', cell: (row) => row.owner },
    ],
  });
}

function mode(row: PolicyView): HtmlValue {
  const probation = row.probationLeft ?? 0;
  const trial = probation > 0 && sub(`on probation: ${probation} more audit ${probation === 1 ? 'run' : 'runs'}`);
  if (row.effectiveMode === row.mode) return [state(row.mode === 'off' ? 'off' : 'ok', row.mode), trial];
  return [
    state('attention', row.effectiveMode),
    sub(`configured as ${row.mode}${row.reducedBy === undefined ? '' : `: ${row.reducedBy}`}`),
    trial,
  ];
}

function pendingTrigger({ pending, held }: PolicyView, now: number): HtmlValue {
  if (pending === undefined) return undefined;
  const { trigger, alert, count, since } = pending;
  const what = trigger === 'alert' ? `alert ${alert ?? ''}` : 'failure callback';
  const more = count === 1 ? '' : ` and ${formatCount(count - 1)} more`;
  const until = held === undefined ? '' : `, runs when the hold by ${held.guard} ends`;
  return [state('attention', 'trigger pending'), sub(`${what}${more}, for ${formatSpan(now - since)}${until}`)];
}

const RUN_TONE: Readonly<Record<NonNullable<PolicyView['lastRun']>['outcome'], Tone>> = {
  acted: 'ok',
  nothing_to_do: 'ok',
  pending_approval: 'ok',
  deferred: 'ok',
  held: 'attention',
  skipped: 'attention',
  running: 'off',
  aborted: 'trouble',
  halted: 'trouble',
  incomplete: 'attention',
  failed: 'trouble',
};

function outcome(row: PolicyView, now: number): HtmlValue {
  const run = row.lastRun;
  const { held } = row;
  const since =
    held !== undefined &&
    html`<span class="sub block"
      >held for ${formatSpan(now - held.since)} by ${held.guard}, since ${time(held.since)}</span
    >`;
  if (run === undefined) return since;
  const counts = `${formatCount(run.matched)} matched, ${formatCount(run.acted)} acted on, ${formatCount(run.backlog)} left`;
  return [state(RUN_TONE[run.outcome], run.outcome.replaceAll('_', ' ')), sub(counts), sub(run.detail), since];
}
