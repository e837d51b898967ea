/** Table of actions, newest first. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { policyLink } from './policy-link.ts';
import {
  type Cell,
  empty,
  idText,
  moment,
  numberColumn,
  state,
  sub,
  table,
  type Tone,
  whole,
  wide,
} from '#foundation/markup/cell.ts';
import type { ActionView } from '../contract/policies.ts';

const ACTION_TONE: Readonly<Record<ActionView['outcome'], Tone>> = {
  accepted: 'ok',
  delivered: 'ok',
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

export function actions(
  status: { readonly actions: readonly ActionView[]; readonly storeError?: string | undefined },
  now: number,
): Cell {
  if (status.storeError !== undefined) {
    return empty('The store cannot be read, so past actions are unknown.');
  }
  return table<ActionView>({
    caption: 'Actions of policies and manual plans, newest first.',
    rows: status.actions,
    empty: 'No actions so far. Each action of a policy or a manual plan appears here with its outcome.',
    columns: {
      Time: (row) => moment(row.at, now),
      Policy: wide((row) => [policyLink(row.policy), sub(row.account)]),
      Action: (row) => whole(row.action),
      Target: wide((row) => [idText(row.target), sub(row.workflowUrl)]),
      Attempt: numberColumn((row) => row.attempt),
      Outcome: wide((row) => [
        state(ACTION_TONE[row.outcome], row.outcome.replaceAll('_', ' ')),
        sub(row.done === undefined || row.done === row.items ? undefined : `${formatCount(row.done)} done`),
        sub(row.detail),
        row.newRunId !== undefined && sub(['new run ', idText(row.newRunId)]),
      ]),
    },
  });
}
