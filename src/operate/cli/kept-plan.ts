/** Whether a kept plan can still be decided on, asked before it is shown: what was done is never called undone. */
import { CommandError } from './command.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { KeptPlan } from './daemon-client.ts';
import { printable } from './output.ts';

const OPEN: Readonly<Record<'apply' | 'approve' | 'reject', readonly string[]>> = {
  apply: ['draft', 'pending', 'approved'],
  approve: ['pending'],
  reject: ['pending', 'draft'],
};

const STATE: Readonly<Record<string, string>> = {
  applied: 'was applied already',
  approved: 'was approved already',
  rejected: 'was rejected already',
  expired: 'has expired',
  draft: 'does not wait for approval',
};

/** @throws {CommandError} saying what became of the plan, and what to do */
export function checkOpen(verb: keyof typeof OPEN, { id, state, plan }: KeptPlan, command: OwnCommand): void {
  if (OPEN[verb].includes(state)) return;
  const next =
    state === 'draft'
      ? `\`${command(`apply ${id}`)}\` does it`
      : `\`${command(`plan ${plan.policy}`)}\` makes a new one`;
  throw new CommandError(printable(`plan ${id} ${STATE[state] ?? `is ${state}`}; ${next}`));
}
