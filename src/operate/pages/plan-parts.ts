/** Plan as a part of a page: what was read, which entries were denied and why, the actions, and their progress. Pure. */
import type { Plan } from '#foundation/domain/plan.ts';
import { counted, formatCount } from '../api/format.ts';
import type { PlanProgress, StoredPlanDetail } from '../contract/plans.ts';
import { planActions, planAuthority, planLimits, planSelection } from '../show/plan.ts';
import { planGroups } from '../show/plan-groups.ts';
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
} from '#foundation/markup/cell.ts';
import { folded } from './frame/fields.ts';

/** Maximum number of listed actions; the rest is counted. The API has all of them. */
const MOST_LISTED = 50;

/** Returns true if an apply of the plan can send something now. */
export function canApply({ state: planState, effectiveMode }: Plan): boolean {
  return planState === 'changes' && ['enforce', 'approve'].includes(effectiveMode);
}

/** @param heading of its parts: `h3` within a section */
export function planMain(plan: Plan, heading: Heading = 'h2'): Cell {
  const isEnforced = plan.effectiveMode === 'enforce';
  const evidence = {
    ...planAuthority(plan),
    ...(isEnforced && { Mode: 'enforce' }),
    ...planSelection(plan),
    ...planLimits(plan),
  };
  return [
    section('entries', 'Entries', [planGroups(plan), actionTable(plan)], heading),
    section('evidence', 'What was read and decided', facts(evidence), heading),
  ];
}

/** Entries that are alike are grouped, so single ones are folded. */
function actionTable(plan: Plan): Cell {
  const { chosen, deferred = [], backlog } = plan;
  const acts = [...chosen, ...deferred].slice(0, MOST_LISTED);
  const more = chosen.length + backlog - acts.length;
  const all = [
    planActions(plan, acts, `${formatCount(chosen.length)} now, ${formatCount(backlog)} in later runs.`),
    more > 0 && faint(`And ${formatCount(more)} more. The API has all entries of this run.`),
  ];
  if (planGroups(plan) === undefined) return all;
  const which = acts.length === chosen.length + backlog ? 'Each of' : 'The first';
  const title = acts.length === 1 ? 'The entry' : `${which} ${counted(acts.length, 'entry', 'entries')}`;
  return folded(title, all);
}

const STATE_TONE: Readonly<Record<PlanProgress['state'], Tone>> = {
  draft: 'off',
  running: 'busy',
  settling: 'busy',
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
