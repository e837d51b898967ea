/** State check of a stored plan, before the plan is shown for a decision. */
import { CommandError } from '../command.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { StoredPlanDetail } from '#operate/contract/plans.ts';
import { printable } from '../output.ts';

const OPEN: Readonly<Record<'apply' | 'approve' | 'reject', readonly string[]>> = {
  apply: ['draft', 'pending', 'approved'],
  approve: ['pending', 'draft'],
  reject: ['pending', 'draft', 'approved'],
};

const STATE: Readonly<Record<string, string>> = {
  applied: 'was applied already',
  approved: 'was approved already',
  rejected: 'was rejected already',
  cancelled: 'was cancelled',
  expired: 'has expired',
};

/** Command that makes such a plan. */
function again({ policy, manual }: StoredPlanDetail['plan']): string {
  return manual === undefined ? `plan ${policy} --keep` : `dlq ${manual.selection.action.replace('-messages', '')}`;
}

/** @throws {CommandError} with the plan's state and the next step */
export function checkOpen(decision: keyof typeof OPEN, kept: StoredPlanDetail, command: OwnCommand): void {
  const { id, state, plan, replacedBy } = kept;
  if (OPEN[decision].includes(state)) return;
  if (replacedBy !== undefined) {
    throw new CommandError(
      printable(`plan ${id} was replaced by ${replacedBy}; \`${command(`${decision} ${replacedBy}`)}\``),
    );
  }
  const next = `\`${command(again(plan))}\` makes a new one`;
  throw new CommandError(printable(`plan ${id} ${STATE[state] ?? `is ${state}`}; ${next}`));
}
