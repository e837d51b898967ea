/** Plan as a part of a page: what was read, which entries were denied and why, the actions, and their progress. Pure. */
import { allowedOf, type Plan, type PlanCampaign } from '#foundation/domain/plan.ts';
import { formatCount } from '../api/format.ts';
import type { PlanProgress, StoredPlanDetail } from '../contract/plans.ts';
import { planActions, planAuthority, planLimits } from '../show/plan.ts';
import {
  type Cell,
  facts,
  faint,
  figures,
  type Heading,
  moment,
  numberColumn,
  paragraph,
  section,
  state,
  sub,
  table,
  type Tone,
  wide,
} from '../show/cell.ts';

/** Maximum number of listed actions; the rest is counted. The API has all of them. */
const MOST_LISTED = 100;

/** Returns true if an apply of the plan can send something now. */
export function canApply({ state: planState, effectiveMode }: Plan): boolean {
  return planState === 'changes' && ['enforce', 'approve'].includes(effectiveMode);
}

/** @param heading of its parts: `h3` within a section */
export function planMain(plan: Plan, heading: Heading = 'h2'): Cell {
  const isEnforced = plan.effectiveMode === 'enforce';
  return [
    facts({ ...planAuthority(plan), ...(isEnforced && { Mode: 'enforce' }), ...planLimits(plan) }),
    sum(plan, heading),
    campaignTable(plan, heading),
    section('entries', 'Actions', actionTable(plan), heading),
  ];
}

/** Verifiable sum: the listed entries minus the denied ones are the actions of this run and of later runs. */
function sum(plan: Plan, heading: Heading): Cell {
  const { skipped, matched, chosen, backlog } = plan;
  const allowed = allowedOf(plan);
  const denied = table<Plan['skipped'][number]>({
    caption: 'Entries that are left out, by guard and reason. Those of select and where do not match.',
    rows: skipped,
    empty: '',
    columns: {
      Guard: (row) => row.guard,
      Reason: wide((row) => row.reason),
      Entries: numberColumn((row) => formatCount(row.count)),
    },
  });
  const content = [
    figures([
      { name: 'Matched', value: matched === undefined ? 'unknown' : formatCount(matched) },
      { name: 'Denied', value: matched === undefined ? 'unknown' : formatCount(matched - allowed) },
      { name: 'Allowed', value: formatCount(allowed) },
      { name: 'In the next run', value: formatCount(chosen.length), note: `${formatCount(backlog)} in later runs` },
    ]),
    skipped.length > 0 && denied,
  ];
  return section('chosen', 'Selection', content, heading);
}

function campaignTable({ campaigns }: Plan, heading: Heading): Cell {
  if (campaigns.length === 0) return undefined;
  return section(
    'groups',
    'Groups',
    table<PlanCampaign>({
      caption: 'Each group is repaired in steps. A step waits for the outcome of the previous one.',
      rows: campaigns,
      empty: '',
      columns: {
        Group: wide((row) => (row.group === '' ? 'all' : row.group)),
        Step: numberColumn((row) => row.step),
        Now: numberColumn((row) => `${formatCount(row.now)} of ${formatCount(row.matched)}`),
        Then: (row) => row.next.map(formatCount).join(', ') || undefined,
        Verified: numberColumn((row) => row.judged > 0 && `${formatCount(row.verified)} of ${formatCount(row.judged)}`),
        Waits: wide((row) => row.held && `${row.held.guard}: ${row.held.reason}`),
      },
    }),
    heading,
  );
}

function actionTable(plan: Plan): Cell {
  const { chosen, deferred = [], backlog } = plan;
  const acts = [...chosen, ...deferred].slice(0, MOST_LISTED);
  const more = chosen.length + backlog - acts.length;
  return [
    planActions(plan, acts, `${formatCount(chosen.length)} now, ${formatCount(backlog)} in later runs.`),
    more > 0 && faint(`And ${formatCount(more)} more, which the guards check when their run begins.`),
  ];
}

const STATE_TONE: Readonly<Record<PlanProgress['state'], Tone>> = {
  draft: 'off',
  running: 'ok',
  settling: 'ok',
  held: 'attention',
  paused: 'attention',
  finished: 'ok',
  cancelled: 'off',
  rejected: 'off',
  replaced: 'off',
  expired: 'off',
};

/** @returns undefined for a plan that was not applied: nothing was sent */
export function progressPart({ progress }: StoredPlanDetail, at: number): Cell {
  if (progress === undefined || progress.state === 'draft') return undefined;
  const { state: now, sent, verified, failedAgain, rejected, unknown, left, deleted, held, settlesAt } = progress;
  const counts = {
    Sent: sent,
    Verified: verified,
    'Failed again': failedAgain,
    Unknown: unknown,
    Rejected: rejected,
    Deleted: deleted,
    Left: left,
  };
  return section('progress', 'Progress', [
    paragraph(
      state(STATE_TONE[now], now),
      held !== undefined && ` by ${held.guard}: ${held.reason}`,
      settlesAt !== undefined && [' judged ', moment(settlesAt, at)],
    ),
    figures(
      Object.entries(counts).map(
        ([name, count]) =>
          count !== undefined && {
            name,
            value: formatCount(count),
            note: name === 'Rejected' ? 'without effect' : undefined,
          },
      ),
    ),
    groups(progress, at),
  ]);
}

function groups({ campaigns }: PlanProgress, at: number): Cell {
  if (campaigns.length === 0) return undefined;
  return table<PlanProgress['campaigns'][number]>({
    caption: 'Each group is repaired in steps.',
    rows: campaigns,
    empty: '',
    columns: {
      Group: wide((row) => (row.group === '' ? 'all' : row.group)),
      State: (row) => row.state,
      Step: numberColumn((row) => row.step),
      Sent: numberColumn((row) => formatCount(row.sent)),
      Verified: numberColumn((row) => formatCount(row.verified)),
      'Failed again': numberColumn((row) => formatCount(row.failedAgain)),
      Until: wide((row) => [moment(row.until, at), sub(row.reason)]),
    },
  });
}
