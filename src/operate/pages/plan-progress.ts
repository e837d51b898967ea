/** Progress of a plan: what was sent, with which outcomes, and what it waits for. Pure. */
import { formatCount } from '../api/format.ts';
import { type Cell, moment, number, section, state, sub, table, type Tone, wide } from '../show/cell.ts';
import { html } from '../show/html.ts';
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
  return section(
    'progress',
    'Progress',
    html`<p>
        ${state(STATE_TONE[now], now)} ${held !== undefined && `by ${held.guard}: ${held.reason}`}
        ${settlesAt !== undefined && html`judged ${moment(settlesAt, at)}`}
      </p>
      <dl class="figures">
        ${figure('Sent', sent)} ${figure('Verified', verified)} ${figure('Failed again', failedAgain)}
        ${figure('Unknown', unknown)} ${figure('Rejected', rejected, 'without effect')}
        ${deleted !== undefined && figure('Deleted', deleted)} ${left !== undefined && figure('Left', left)}
      </dl>
      ${groups(progress, at)}`,
  );
}

function figure(title: string, value: number, note?: string): Cell {
  return html`<div>
    <dt>${title}</dt>
    <dd>${formatCount(value)} ${sub(note)}</dd>
  </div>`;
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
