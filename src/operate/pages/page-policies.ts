/** Parts of pages about policies: active conditions, pending plans and campaigns. Pure. */
import type { Condition } from '#automate/ledger/commands.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { counted, formatCount } from '../api/format.ts';
import { foldedTakeBack } from './approvals.ts';
import { commandOf, type PageContext } from './frame/page.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { planPath, policyPath } from './paths.ts';
import { clipped, idLink, long, moment, state, sub, time, type Tone } from './page-parts.ts';
import type { Status } from '../api/stored-status.ts';
import type { StoredPlanView } from '../contract/plans.ts';
import type { PolicyView } from '../contract/policies.ts';
import { table } from './table.ts';
import { besidesPauses, CONDITIONS_ANCHOR } from '../api/verdict.ts';

interface ActiveRow {
  readonly tone: Tone;
  readonly word: string;
  readonly about: string;
  readonly summary: string | Html;
  readonly detail: string | Html;
  readonly since: number;
  /** Next command for an operator, or the form for it. */
  readonly command?: string;
  readonly form?: Html;
}

/** @returns undefined without active conditions */
export function activeConditions(
  status: Pick<Status, 'pauses' | 'conditions' | 'plans' | 'approvals' | 'at'>,
  context: PageContext,
): Html | undefined {
  const command = commandOf(context);
  const rows = [
    ...status.pauses.map(pauseRow),
    ...besidesPauses(status)
      // The rows of the plans themselves have what is left of them now.
      .filter(({ key }) => !key.startsWith('approved/'))
      .map((condition) => conditionRow(condition, status.plans)),
    ...status.approvals.map((approval) => approvalRow(approval, context)),
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
          cell: (row) => [row.summary, html`<span class="sub block">${long(row.detail)}</span>`],
        },
        {
          title: 'Next step',
          wide: true,
          cell: (row) => row.form ?? (row.command !== undefined && html`<code>${long(command(row.command))}</code>`),
        },
      ],
    })}
  </section>`;
}

function approvalRow(approval: StoredPlanView, context: PageContext): ActiveRow {
  const { id, policy, approvedBy = 'an operator', approvedAt, savedAt } = approval;
  return {
    tone: 'off',
    word: 'approved',
    about: policy,
    summary: html`Plan ${idLink(planPath(id), id)} is approved by ${clipped(approvedBy)}`,
    detail: html`${coverText(approval)}, until ${time(approval.expiresAt)}. It acts when no guard holds it.`,
    since: approvedAt ?? savedAt,
    form: foldedTakeBack(context, approval),
  };
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
export function pendingPlans(status: Pick<Status, 'plans' | 'at'>, command: OwnCommand): Html | undefined {
  if (status.plans.length === 0) return undefined;
  return html`<section aria-labelledby="plans">
    <h2 id="plans">Pending approvals</h2>
    ${table<StoredPlanView>({
      caption: html`Read a plan before you decide: <code>${command('approve PLAN')}</code> shows it and asks for
        confirmation. Until then it does nothing.`,
      rows: status.plans,
      empty: '',
      columns: [
        { title: 'Plan', cell: (row) => idLink(planPath(row.id), row.id) },
        { title: 'Policy', wide: true, cell: (row) => [policyLink(row.policy), sub(row.account)] },
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
            html`<div><code>${command(`approve ${id}`)}</code></div>`,
            html`<div><code>${command(`reject ${id}`)}</code></div>`,
          ],
        },
      ],
    })}
  </section>`;
}

function would({ action, covers, matched }: StoredPlanView): HtmlValue {
  const entries =
    action === 'message-dlq.prune' ? `up to ${counted(matched, 'message')}, without listing them` : undefined;
  return [html`<span class="nowrap">${action}</span>`, sub(entries ?? counted(covers, 'action'))];
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
export function campaigns(policies: readonly PolicyView[], at: number): Html | undefined {
  const rows = policies.flatMap((policy) => policy.campaigns);
  if (rows.length === 0) return undefined;
  return html`<section aria-labelledby="campaigns">
    <h2 id="campaigns">Campaigns</h2>
    ${table<Campaign>({
      caption: 'A repair starts with one entry of each group, waits for its outcome, and grows.',
      rows,
      empty: '',
      columns: [
        {
          title: 'Group',
          wide: true,
          cell: (row) => [
            row.group === '' ? 'all' : row.group,
            html`<span class="sub">${policyLink(row.policy)}</span>`,
          ],
        },
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
        { title: 'Next', wide: true, cell: (row) => next(row, at) },
        { title: 'Begun', minor: true, cell: (row) => moment(row.begunAt, at) },
      ],
    })}
  </section>`;
}

function next({ state: now, until: at, reason, breaker }: Campaign, asOf: number): HtmlValue {
  if (now === 'audit') return ['an operator lifts it', sub(reason)];
  if (at === undefined) return undefined;
  if (now !== 'halted') return [html`judged `, moment(at, asOf)];
  if (breaker === 'half-open' || at <= asOf) return ['one entry can be resumed now', sub(reason)];
  return [html`the breaker is open; one entry can be resumed `, moment(at, asOf), sub(reason)];
}

export function policyLink(name: string): Html {
  return html`<a href="${policyPath(name)}">${clipped(name)}</a>`;
}
