/** Progress of a plan: what was sent, with which outcomes, and what it waits for. Pure. */
import { formatCount } from '../api/format.ts';
import type { PlanProgress, StoredPlanDetail } from '../contract/plans.ts';
import { html, type Html } from './html.ts';
import { moment, section, state, sub, type Tone } from './page-parts.ts';
import { table } from './table.ts';

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
export function progressPart({ progress }: StoredPlanDetail, at: number): Html | undefined {
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

function figure(title: string, value: number, note?: string): Html {
  return html`<div>
    <dt>${title}</dt>
    <dd>${formatCount(value)} ${sub(note)}</dd>
  </div>`;
}

function groups({ campaigns }: PlanProgress, at: number): Html | undefined {
  if (campaigns.length === 0) return undefined;
  return table<PlanProgress['campaigns'][number]>({
    caption: 'Each group is repaired in steps.',
    rows: campaigns,
    empty: '',
    columns: [
      { title: 'Group', wide: true, cell: (row) => (row.group === '' ? 'all' : row.group) },
      { title: 'State', cell: (row) => row.state },
      { title: 'Step', align: 'number', cell: (row) => row.step },
      { title: 'Sent', align: 'number', cell: (row) => formatCount(row.sent) },
      { title: 'Verified', align: 'number', cell: (row) => formatCount(row.verified) },
      { title: 'Failed again', align: 'number', cell: (row) => formatCount(row.failedAgain) },
      { title: 'Until', wide: true, cell: (row) => [moment(row.until, at), sub(row.reason)] },
    ],
  });
}
