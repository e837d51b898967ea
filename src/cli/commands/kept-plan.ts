/** Stored plan, shown for a decision that is still possible. */
import { CommandError, type Call } from '../command.ts';
import type { DaemonCall } from '../daemon-exchange.ts';
import { request } from '../daemon-request.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { StoredPlanDetail } from '#operate/contract/plans.ts';
import { printable, textStyle } from '../output.ts';

type Decision = 'apply' | 'approve' | 'reject';

/** Shows the plan that the first operand names. @throws {CommandError} if the decision is not possible */
export async function showKept(call: Call, daemon: DaemonCall, decision: Decision): Promise<StoredPlanDetail> {
  const { planText } = await import('./plan-text.ts');
  const { plan: kept } = await request(daemon, 'GET /api/v1/plans/{id}', { id: call.positionals[0]! }, 'plan');
  checkOpen(decision, kept, daemon.command);
  call.io.stderr.write(planText(kept.plan, { ...textStyle(call.io, 'stderr'), isAsked: true }));
  return kept;
}

const OPEN: Readonly<Record<Decision, readonly string[]>> = {
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
function checkOpen(decision: Decision, kept: StoredPlanDetail, command: OwnCommand): void {
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
