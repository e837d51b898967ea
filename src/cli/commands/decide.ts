/** `opsd approve` and `opsd reject`: an operator decides on a shown plan. */
import { counted } from '#foundation/domain/counted.ts';
import { textOption, type Call } from '../command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { daemonCommand, type CommandAnswer } from '../daemon-command.ts';
import type { DaemonCall } from '../daemon-exchange.ts';
import { request } from '../daemon-request.ts';
import { showKept } from './kept-plan.ts';
import { printable } from '../output.ts';

const OPTIONS = { reason: REASON_OPTION, yes: YES_OPTION };

export const approveCommand = daemonCommand({
  name: 'approve',
  summary: 'Approve a plan.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: OPTIONS,
  details:
    'The runs of the policy then apply it, the first of them at once: exactly the shown actions, under all guards. If a ' +
    'guard holds it, they act when the hold ends. opsd reject takes the approval back. ' +
    'The status page and GET /api/v1/plans list the pending plans. To stop it again: opsd pause --policy POLICY.',
  examples: ['opsd approve 9f3c2a', "opsd approve 9f3c2a --yes --reason 'read it with the team'"],
  answer: async (call, findDaemon) => decide(call, await findDaemon(), 'approve'),
});

export const rejectCommand = daemonCommand({
  name: 'reject',
  summary: 'Reject a plan, or take its approval back.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: OPTIONS,
  details:
    'After the request in flight, nothing more is sent for an approved plan. ' +
    'The policy continues and makes another plan later. To stop it: opsd pause --policy POLICY.',
  examples: ['opsd reject 9f3c2a', "opsd reject 9f3c2a --yes --reason 'the runs are obsolete'"],
  answer: async (call, findDaemon) => decide(call, await findDaemon(), 'reject'),
});

async function decide(call: Call, daemon: DaemonCall, decision: 'approve' | 'reject'): Promise<CommandAnswer> {
  const kept = await showKept(call, daemon, decision);
  const acts = `${counted(kept.covers, 'action')} of ${printable(kept.plan.policy)}`;
  await confirm(call, decision === 'approve' ? `Approve ${acts}?` : `Reject ${acts}?`);
  const body = { plan: kept.id, reason: textOption(call.values, 'reason')?.trim() || undefined };
  const data = await request(daemon, `POST /api/v1/${decision}`, { body }, 'plan');
  const { state, held, by = 'you', approvedAt = call.io.clock.now(), expiresAt } = data.plan;
  const decided = `Plan ${printable(kept.id)} is ${printable(state)} by ${printable(by)}`;
  if (state !== 'approved') return { data, text: `${decided}. Nothing more is sent for it.\n` };
  const later =
    held === undefined
      ? `The runs of ${printable(kept.plan.policy)} do it, the first of them at once`
      : `It acts when the hold by ${printable(held.guard)} ends (${printable(held.reason)})`;
  const takeBack = printable(daemon.command(`reject ${kept.id}`));
  const text = `${decided} at ${isoTime(approvedAt)}.\n${later}, until ${isoTime(expiresAt)}; \`${takeBack}\` takes it back.\n`;
  return { data, text };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
