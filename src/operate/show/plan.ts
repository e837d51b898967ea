/** A plan as people read it: the reading, the limits that hold it, and its actions. Pure. */
import { counted, formatCount, formatUsd } from '#foundation/domain/counted.ts';
import {
  allowedOf,
  expiryText,
  type BudgetProposal,
  type Plan,
  type PlanCampaign,
  type Proposal,
  type PruneFilter,
  type PruneProposal,
  type RepublishProposal,
  type ResumeProposal,
} from '#foundation/domain/plan.ts';
import { formatSpan } from '#foundation/domain/time-text.ts';
import {
  idText,
  lines,
  minor,
  moment,
  state,
  strong,
  table,
  timePiece,
  wide,
  type Cell,
  type Facts,
  type Table,
  type TableOptions,
} from '#foundation/markup/cell.ts';

/** Maximum number of listed checks; the rest is counted. */
const MAX_CHECKS = 12;

export function planAuthority(plan: Plan): Facts['rows'] {
  const { mode, effectiveMode, stopped, needsApproval, overruled, manual } = plan;
  const isAborted = plan.state === 'aborted';
  const reduced = mode === effectiveMode ? '' : ` (configured as ${mode})`;
  const waits = manual === undefined ? 'a run would wait for approval' : 'applying it is its approval';
  const then = effectiveMode === 'approve' ? waits : 'a run would not act';
  const settings = Object.entries(overruled?.settings ?? {}).map(([name, value]) => `${name}=${value}`);
  return {
    Read: lines(readParts(plan), '; '),
    Manual: manual && `by ${manual.by}: ${manual.reason}`,
    Mode: effectiveMode !== 'enforce' && [state('attention', effectiveMode), `${reduced}: ${then}`],
    [isAborted ? 'Aborted' : 'Held']: stopped && [
      state(isAborted ? 'trouble' : 'attention', stopped.guard),
      `: ${stopped.reason}`,
    ],
    Approval: needsApproval && [state('attention', 'required'), `: ${needsApproval.guard}, ${needsApproval.reason}`],
    Overruled: overruled && [state('attention', 'once'), `: ${settings.join(' ')}; ${overruled.reason}`],
    Guards: guards(plan),
  };
}

/** What the plan selects, and the steps in which it repairs each group. */
export function planSelection(plan: Plan): Facts['rows'] {
  return { Chosen: sum(plan), Campaign: plan.campaigns.length > 0 && campaigns(plan) };
}

const MAX_CAMPAIGNS = 20;
const MAX_REASONS = 20;

/** Verifiable sum: the listed entries minus the denied ones are the actions of this run and of later runs. */
function sum(plan: Plan): Cell {
  if (plan.action === 'message-dlq.prune' || plan.action === 'budget.raise') return undefined;
  if (plan.action.startsWith('workflow-dlq') && plan.read?.complete !== true) return undefined;
  const allowed = allowedOf(plan);
  const all = plan.skipped.reduce((total, row) => total + row.count, allowed);
  const width = formatCount(all).length;
  const rest = plan.skipped.slice(MAX_REASONS);
  const guardWidth = Math.max(0, ...plan.skipped.map(({ guard }) => guard.length));
  const { matched = allowed } = plan;
  const what = matched === allowed ? 'matched' : `allowed of ${formatCount(matched)} matched`;
  const split = `: ${formatCount(plan.chosen.length)} now, ${formatCount(plan.backlog)} in later runs`;
  return lines(
    [
      formatCount(all),
      ...plan.skipped
        .slice(0, MAX_REASONS)
        .map(
          ({ guard, reason, count }) =>
            `− ${formatCount(count).padStart(width)}  ${guard.padEnd(guardWidth)}  ${reason}`,
        ),
      rest.length > 0 &&
        `− ${formatCount(rest.reduce((total, row) => total + row.count, 0)).padStart(width)}  ${counted(rest.length, 'more reason')}`,
      [strong(`= ${formatCount(allowed)} ${what}`), allowed > 0 && split],
    ],
    '\n',
  );
}

/** `1 of 12 now, then 3, 8`; of several groups, their sum. */
export function stepsText({ campaigns: groups, chosen, backlog }: Plan): string | undefined {
  const [first, ...others] = groups;
  if (first === undefined)
    return backlog === 0 ? undefined : `${formatCount(chosen.length)} now, ${formatCount(backlog)} in later runs`;
  if (others.length === 0) return stepText(first);
  const now = groups.reduce((sum, group) => sum + group.now, 0);
  return `${formatCount(now)} now in ${counted(groups.length, 'group')}; each group grows step by step`;
}

function stepText({ now, next, matched }: PlanCampaign): string {
  const then = next.length === 0 || matched <= now ? '' : `, then ${next.map(formatCount).join(', ')}`;
  return `${formatCount(now)} of ${formatCount(matched)} now${then}`;
}

function campaigns(plan: Plan): Cell {
  const more = plan.campaigns.length - MAX_CAMPAIGNS;
  return [
    ...plan.campaigns.slice(0, MAX_CAMPAIGNS).map((campaign) => lines(campaignParts(campaign))),
    more > 0 && lines([`… and ${counted(more, 'more group')}; the API and \`opsd plan -o json\` have all of them`]),
  ];
}

function campaignParts(campaign: PlanCampaign): Cell[] {
  const { group, step, verified, judged, held } = campaign;
  const sofar =
    judged === 0 ? 'nothing judged yet' : `verified so far: ${formatCount(verified)} of ${formatCount(judged)}`;
  return [
    strong(group === '' ? 'all' : group),
    `step ${step}: ${stepText(campaign)}`,
    sofar,
    held && state('attention', `waits: ${held.guard}, ${held.reason}`),
  ];
}

export function planLimits({ caps, drain, stopped, campaigns, notes }: Plan): Facts['rows'] {
  // The end of a halt is known, and included in the time.
  const hold = [stopped, ...campaigns.map(({ held }) => held)].find((one) => one !== undefined && one.guard !== 'ramp');
  return {
    Caps: lines([
      ...caps.map(({ scope, window, used, limit }) => {
        const text = `${scope === 'policy' ? '' : `${scope} `}${window} ${formatCount(used)} of ${formatCount(limit)}`;
        return used >= limit ? state('attention', text) : text;
      }),
      caps.find(({ why }) => why !== undefined)?.why,
    ]),
    Drain: drain && drainParts(drain, hold?.guard),
    Note: lines(notes, '\n'),
  };
}

const SUBJECT: Readonly<Record<Plan['action'], string>> = {
  'workflow-dlq.resume': 'workflow DLQ',
  'workflow-dlq.delete': 'workflow DLQ',
  'message-dlq.republish': 'bodies from failure callbacks; no operation lists the messages',
  'message-dlq.delete': 'ids from failure callbacks; no operation lists the messages',
  'message-dlq.prune': 'nothing: no operation lists the messages to delete',
  'budget.raise': 'spend of the account; no operation reads its budget',
};

function readParts(plan: Plan): string[] {
  const errors = plan.evaluationErrors;
  const failed = errors === 0 ? [] : [`the expression failed on ${counted(errors, 'entry', 'entries')}`];
  if (plan.read === undefined || (plan.read.pages === 0 && !plan.read.complete)) {
    const isUnlisted = plan.read === undefined && !plan.action.startsWith('workflow-dlq');
    const isMade = plan.checks.length + plan.notes.length > 0;
    return [isUnlisted && isMade ? SUBJECT[plan.action] : 'nothing was read', ...failed];
  }
  const { pages, entries, complete, filterChecked, population, clockSkewMs } = plan.read;
  const of = population === undefined ? '' : ` of ${counted(population, 'entry', 'entries')}`;
  return [
    `workflow DLQ ${complete ? 'complete' : 'incomplete'}: ${counted(pages, 'page')}, ${formatCount(entries)} for the filter${of}`,
    `filter check ${formatCount(filterChecked)}/${formatCount(entries)}`,
    ...(clockSkewMs === undefined ? [] : [`clock skew ${(Math.abs(clockSkewMs) / 1_000).toFixed(1)} s`]),
    ...failed,
  ];
}

/** Checks of groups and facts, failed ones first. The ramp's result is in its campaign. */
function guards({ checks }: Plan): Cell {
  const byText = checks
    .filter(({ guard }) => guard !== 'ramp')
    .toSorted((a, b) => Number(a.passed) - Number(b.passed))
    .map((check) => [`${check.passed} ${check.guard} ${check.reason}`, check] as const);
  const different = [...new Map(byText).values()];
  const more = different.length - MAX_CHECKS;
  return lines([
    ...different
      .slice(0, MAX_CHECKS)
      .map(({ guard, reason, passed }) => [
        state(passed ? 'ok' : 'trouble', `${passed ? '✓' : '✗'} ${guard}`),
        ` ${reason}`,
      ]),
    more > 0 && `and ${formatCount(more)} more`,
  ]);
}

/** @param hold guard that holds the plan for an unknown time */
function drainParts(drain: NonNullable<Plan['drain']>, hold: string | undefined): Cell {
  const about = `about ${formatSpan(Math.ceil(drain.ms / 60_000) * 60_000)}`;
  const time =
    hold === undefined
      ? drain.ms < 60_000
        ? 'this run'
        : about
      : `${drain.ms < 60_000 ? 'one run' : about} after the hold by ${hold} ends`;
  const isLosing = (drain.expiring ?? 0) > 0;
  const expiry = expiryText(drain);
  return lines(
    [time, isLosing ? state('attention', expiry) : expiry, isLosing && 'entries that expire first come first'],
    '; ',
  );
}

/** Actions with the columns of their kind. */
export function planActions({ action, at }: Plan, rows: readonly Proposal[], caption = ''): Table {
  const all = actionColumns(at);
  return table<AnyProposal>({
    caption,
    rows: rows as readonly unknown[] as readonly AnyProposal[],
    empty: 'No action. Each entry that the guards allow appears here.',
    columns: Object.fromEntries(COLUMNS_OF[action].map((name) => [name, all[name]!])),
  });
}

/** Proposal with the fields of every kind. The columns of a kind read its own. */
type AnyProposal = Omit<ResumeProposal, 'action'> &
  Omit<RepublishProposal, 'action'> &
  Omit<PruneProposal, 'action'> &
  Omit<BudgetProposal, 'action'>;

function actionColumns(at: number): TableOptions<AnyProposal>['columns'] {
  return {
    dlqId: wide((row) => idText(row.dlqId)),
    run: wide((row) => idText(row.workflowRunId)),
    workflow: minor(wide((row) => row.workflowUrl)),
    message: wide((row) => idText(row.messageId)),
    failed: (row) => timePiece(row.failedAt),
    learned: (row) => timePiece(row.failedAt),
    cause: wide(({ cause, status }) => (status === undefined ? cause : `${cause} ${status}`)),
    status: (row) => row.status ?? 'no response',
    destination: wide((row) => row.url),
    bytes: (row) => formatCount(row.size),
    try: (row) => row.attempt,
    expires: (row) => moment(row.expiresAt, at),
    labels: wide((row) => row.labels.join(', ')),
    page: (row) => row.page,
    'at most': (row) => formatCount(row.items),
    'failed before': (row) => timePiece(row.filter.toDate),
    filters: wide((row) => filterParts(row.filter)),
    account: (row) => row.account,
    from: (row) => formatUsd(row.fromUsd),
    to: (row) => formatUsd(row.toUsd),
  };
}

const COLUMNS_OF: Readonly<Record<Plan['action'], readonly string[]>> = {
  'workflow-dlq.resume': ['dlqId', 'run', 'workflow', 'failed', 'cause', 'try', 'expires', 'labels'],
  'workflow-dlq.delete': ['dlqId', 'run', 'workflow', 'failed', 'cause', 'labels'],
  'message-dlq.republish': ['dlqId', 'message', 'destination', 'learned', 'cause', 'bytes', 'try', 'expires', 'labels'],
  'message-dlq.delete': ['dlqId', 'message', 'learned', 'status', 'destination'],
  'message-dlq.prune': ['page', 'at most', 'failed before', 'filters'],
  'budget.raise': ['account', 'from', 'to'],
};

function filterParts({ toDate: _bound, ...filters }: PruneFilter): Cell {
  const parts = Object.entries(filters).map(([name, value]): Cell =>
    name === 'fromDate' ? ['failed after ', timePiece(value as number)] : `${name} ${[value].flat().join(' or ')}`,
  );
  return parts.flatMap((part, index) => (index === 0 ? [part] : [', ', part]));
}
