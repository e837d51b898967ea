/** Progress of a plan: what was sent, with which outcomes, and what it waits for. Pure. */
import { formatCount } from '../api/format.ts';
import {
  type Cell,
  figures,
  moment,
  number,
  paragraph,
  section,
  state,
  sub,
  table,
  type Tone,
  wide,
} from '../show/cell.ts';
import type { PlanProgress, StoredPlanDetail } from '../contract/plans.ts';

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
      Step: number((row) => row.step),
      Sent: number((row) => formatCount(row.sent)),
      Verified: number((row) => formatCount(row.verified)),
      'Failed again': number((row) => formatCount(row.failedAgain)),
      Until: wide((row) => [moment(row.until, at), sub(row.reason)]),
    },
  });
}
