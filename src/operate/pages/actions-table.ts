/** Table of actions, newest first. Pure. */
import { formatCount } from '../api/format.ts';
import type { Status } from '../api/stored-status.ts';
import type { ActionView } from '../contract/policies.ts';
import { html, type Html } from './html.ts';
import { policyLink } from './page-policies.ts';
import { idText, moment, state, sub, type Tone } from './page-parts.ts';
import { table } from './table.ts';

const ACTION_TONE: Readonly<Record<ActionView['outcome'], Tone>> = {
  accepted: 'ok',
  verified: 'ok',
  confirmed_applied: 'ok',
  pending: 'off',
  confirmed_not_applied: 'off',
  unverified: 'attention',
  unresolvable: 'trouble',
  rejected: 'attention',
  failed_again: 'attention',
  unknown: 'trouble',
};

export function actions(status: Pick<Status, 'actions' | 'storeError'>, now: number): Html {
  if (status.storeError !== undefined) {
    return html`<p class="empty">The store cannot be read, so past actions are unknown.</p>`;
  }
  return table<ActionView>({
    caption: 'Actions of policies and manual plans, newest first.',
    rows: status.actions,
    empty: 'No actions so far. Each action of a policy or a manual plan appears here with its outcome.',
    columns: [
      { title: 'Time', cell: (row) => moment(row.at, now) },
      { title: 'Policy', wide: true, cell: (row) => [policyLink(row.policy), sub(row.account)] },
      { title: 'Action', cell: (row) => html`<span class="nowrap">${row.action}</span>` },
      {
        title: 'Target',
        wide: true,
        cell: (row) => [idText(row.target), sub(row.workflowUrl)],
      },
      { title: 'Attempt', align: 'number', cell: (row) => row.attempt },
      {
        title: 'Outcome',
        wide: true,
        cell: (row) => [
          state(ACTION_TONE[row.outcome], row.outcome.replaceAll('_', ' ')),
          sub(row.done === undefined || row.done === row.items ? undefined : `${formatCount(row.done)} done`),
          sub(row.detail),
          row.newRunId !== undefined && html`<span class="sub">new run ${idText(row.newRunId)}</span>`,
        ],
      },
    ],
  });
}
