/** Parts of pages about policies: active conditions, pending plans and campaigns. Pure. */
import type { Status } from '../api/stored-status.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { counted } from '../api/format.ts';
import { commandOfAction, pausedPolicy } from '../situation/next-step.ts';
import { decisionForm, foldedTakeBack } from './approvals.ts';
import { pageCommand, type PageContext } from './frame/page.ts';
import { planPath } from '../contract/page-paths.ts';
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
  whole,
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
  /** Next command for an operator, or the form for it. */
  readonly command?: string;
  readonly form?: Cell;
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
    ...status.approvals.map((approval) => approvalRow(approval, context)),
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
            row.form ??
            (row.command !== undefined && html`<code>${long(command(row.command.replace(/^opsd /, '')))}</code>`),
        ),
      },
    }),
  );
}

function approvalRow(approval: StoredPlanView, context: PageContext): ActiveRow {
  const { id, policy, approvedBy = 'an operator', approvedAt, savedAt } = approval;
  return {
    tone: 'off',
    word: 'approved',
    about: policy,
    summary: html`Plan ${idLink(planPath(id), id)} is approved by ${clipped(approvedBy)}`,
    detail: html`${coverText(approval)}, until ${timePiece(approval.expiresAt)}. It acts when no guard holds it.`,
    since: approvedAt ?? savedAt,
    form: foldedTakeBack(context, approval),
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
    command: commandOfAction({ kind: 'unpause', policy }),
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
      return commandOfAction({ kind: 'unpause', policy, group });
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
        Action: wide((row) => would(row)),
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

function would({ action, covers, matched }: StoredPlanView): Cell {
  const entries =
    action === 'message-dlq.prune' ? `up to ${counted(matched, 'message')}, without listing them` : undefined;
  return [whole(action), sub(entries ?? counted(covers, 'action'))];
}
