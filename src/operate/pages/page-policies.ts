/** Parts of pages about policies: active conditions, pending plans and campaigns. Pure. */
import type { Status } from '../api/stored-status.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import { shellWord } from '#foundation/domain/own-command.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { conditionAction, pausedPolicy, takeBack, type NextAction } from '../situation/next-step.ts';
import { actionPart, decisionForm } from './next-action.ts';
import { pageCommand, type PageContext } from './frame/page.ts';
import { planPath } from '../contract/page-paths.ts';
import { planTitle } from '../show/plan-acts.ts';
import { policyLink } from '../show/policy-link.ts';
import { besidesPauses, CONDITIONS_ANCHOR } from '../api/verdict.ts';
import {
  type Cell,
  code,
  idLink,
  lines,
  moment,
  section,
  state,
  sub,
  table,
  timePiece,
  type Tone,
  wide,
} from '#foundation/markup/cell.ts';
import { clipped, html, long } from '#foundation/markup/html.ts';
import type { StoredPlanView } from '../contract/plans.ts';

interface ActiveRow {
  readonly tone: Tone;
  readonly word: string;
  readonly about: string;
  readonly summary: Cell;
  readonly detail: Cell;
  readonly since: number;
  readonly action?: NextAction | undefined;
  /** Next command, where no action resolves it. */
  readonly command?: string | undefined;
}

/** @returns undefined without active conditions */
export function activeConditions(
  status: Pick<Status, 'pauses' | 'conditions' | 'plans' | 'approvals' | 'at'>,
  context: PageContext,
): Cell {
  const command = pageCommand(context);
  const rows = [
    ...status.pauses.map(pauseRow),
    ...besidesPauses(status)
      // The rows of the plans themselves have what is left of them now.
      .filter(({ key }) => !key.startsWith('approved/'))
      .map((condition) => conditionRow(condition, status.plans)),
    ...status.approvals.map(approvalRow),
  ];
  if (rows.length === 0) return undefined;
  return section(
    CONDITIONS_ANCHOR,
    'Active conditions',
    table<ActiveRow>({
      caption: html`Each is reported once when it becomes active and once when it is resolved. To pause all policies:
        <code>${command('pause --reason TEXT')}</code>.`,
      rows,
      empty: '',
      columns: {
        Condition: wide((row) => [state(row.tone, row.word), sub(row.about)]),
        Since: (row) => moment(row.since, status.at),
        Reason: wide((row) => [row.summary, html`<span class="sub block">${long(row.detail)}</span>`]),
        'Next step': wide(
          (row) =>
            (row.action && actionPart(context, row.action, [...status.plans, ...status.approvals])) ??
            (row.command && code(command(row.command))),
        ),
      },
    }),
  );
}

function approvalRow(approval: StoredPlanView): ActiveRow {
  const { id, policy, approvedBy = 'an operator', approvedAt, savedAt } = approval;
  return {
    tone: 'off',
    word: 'approved',
    about: policy,
    summary: html`Plan ${idLink(planPath(id), id)} is approved by ${clipped(approvedBy)}`,
    detail: html`${coverText(approval)}, until ${timePiece(approval.expiresAt)}. It acts when no guard holds it.`,
    since: approvedAt ?? savedAt,
    action: takeBack(approval),
  };
}

function pauseRow(pause: Status['pauses'][number]): ActiveRow {
  const { scope, reason, at, by } = pause;
  const policy = pausedPolicy(pause);
  return {
    tone: by === 'engine' ? 'trouble' : 'off',
    word: 'paused',
    about: policy ?? (scope === 'engine' ? 'every policy' : scope),
    summary: reason,
    detail: by === 'engine' ? 'the daemon paused itself' : `by ${by}`,
    since: at,
    action: { kind: 'unpause', policy },
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
  const { key, severity, policy = 'NAME', group, summary, detail, since } = condition;
  const [kind = ''] = key.split('/');
  return {
    tone: CONDITION_TONE[severity],
    word: CONDITION_WORD[kind] ?? kind,
    about: [condition.policy, group].filter((part) => part !== undefined && part !== '').join(' · '),
    summary,
    detail,
    since,
    action: conditionAction(condition, plans),
    command: NEXT_COMMAND[kind]?.(policy),
  };
}

/** Commands that show more, or that try again. */
const NEXT_COMMAND: Readonly<Record<string, (policy: string) => string>> = {
  unknown: (policy) => `audit --policy ${shellWord(policy)} --since 2h`,
  reload: () => 'reload',
};

/** @returns undefined without pending plans */
export function pendingPlans(status: Pick<Status, 'plans' | 'at'>, context: PageContext): Cell {
  if (status.plans.length === 0) return undefined;
  const command = pageCommand(context);
  return section(
    'plans',
    'Pending approvals',
    table<StoredPlanView>({
      caption: html`Read a plan before you decide: <code>${command('approve PLAN')}</code> shows it and asks for
        confirmation. Until then it does nothing.`,
      rows: status.plans,
      empty: '',
      columns: {
        Plan: (row) => idLink(planPath(row.id), row.id),
        Policy: wide((row) => [policyLink(row.policy), sub(row.account)]),
        Action: wide((row) => planTitle(row)),
        Reason: wide((row) =>
          row.needsApproval === undefined ? 'its mode' : `${row.needsApproval.guard}: ${row.needsApproval.reason}`,
        ),
        'Pending since': (row) => moment(row.savedAt, status.at),
        Expires: (row) => moment(row.expiresAt, status.at),
        Decide: wide(
          (row) =>
            decisionForm(context, row) ??
            lines([`approve ${row.id}`, `reject ${row.id}`].map((text) => code(command(text)))),
        ),
      },
    }),
  );
}
