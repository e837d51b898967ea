/** `opsd approve` and `opsd reject`: an operator decides on a shown plan. */
import { counted } from '#foundation/domain/counted.ts';
import { EXIT, textOption, type Call, type Command } from '../command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { request } from '../daemon-request.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { checkOpen } from './kept-plan.ts';
import { OUTPUT_OPTION, outputFormat, printable, textStyle, writeData } from '../output.ts';

const OPTIONS = { reason: REASON_OPTION, yes: YES_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION };

export const approveCommand: Command = {
  name: 'approve',
  summary: 'Approve a plan.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: OPTIONS,
  details:
    'The runs of the policy then apply it, the first of them at once: exactly the shown actions, under all guards. If a\n' +
    'guard holds it, they act when the hold ends. opsd reject takes the approval back.\n' +
    'The status page and GET /api/v1/plans list the pending plans. To stop it again: opsd pause --policy POLICY.',
  examples: ['opsd approve 9f3c2a', "opsd approve 9f3c2a --yes --reason 'read it with the team'"],
  run: (call) => decide(call, 'approve'),
};

export const rejectCommand: Command = {
  name: 'reject',
  summary: 'Reject a plan, or take its approval back.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: OPTIONS,
  details:
    'After the request in flight, nothing more is sent for an approved plan.\n' +
    'The policy continues and makes another plan later. To stop it: opsd pause --policy POLICY.',
  examples: ['opsd reject 9f3c2a', "opsd reject 9f3c2a --yes --reason 'the runs are obsolete'"],
  run: (call) => decide(call, 'reject'),
};

async function decide(call: Call, decision: 'approve' | 'reject'): Promise<number> {
  const format = outputFormat(call.values);
  const daemon = await findDaemon(call);
  if (daemon === undefined) return EXIT.failed;
  const { planText } = await import('./plan-text.ts');
  const { plan: kept } = await request(daemon, 'GET /api/v1/plans/{id}', { id: call.positionals[0]! }, 'plan');
  checkOpen(decision, kept, daemon.command);
  call.io.stderr.write(planText(kept.plan, { ...textStyle(call.io, 'stderr'), isAsked: true }));
  const acts = `${counted(kept.covers, 'action')} of ${printable(kept.plan.policy)}`;
  await confirm(call, decision === 'approve' ? `Approve ${acts}?` : `Reject ${acts}?`);
  const body = { plan: kept.id, reason: textOption(call.values, 'reason')?.trim() || undefined };
  const { plan: decided } = await request(daemon, `POST /api/v1/${decision}`, { body }, 'plan');
  if (format !== 'table') {
    await writeData(call.io, format, { plan: decided });
    return EXIT.ok;
  }
  const id = printable(kept.id);
  const by = printable(decided.by ?? 'you');
  if (decided.state !== 'approved') {
    call.io.stdout.write(`Plan ${id} is ${printable(decided.state)} by ${by}. Nothing more is sent for it.\n`);
    return EXIT.ok;
  }
  const [from, until] = [decided.approvedAt ?? call.io.clock.now(), decided.expiresAt].map(isoTime);
  const { held } = decided;
  const later =
    held === undefined
      ? `The runs of ${printable(kept.plan.policy)} do it, the first of them at once`
      : `It acts when the hold by ${printable(held.guard)} ends (${printable(held.reason)})`;
  const takeBack = printable(daemon.command(`reject ${kept.id}`));
  call.io.stdout.write(
    `Plan ${id} is approved by ${by} at ${from}.\n${later}, until ${until}; \`${takeBack}\` takes it back.\n`,
  );
  return EXIT.ok;
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
