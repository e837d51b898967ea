/** Common part of `approve` and `reject`: an operator decides on a shown plan. */
import { counted } from '#foundation/domain/counted.ts';
import { EXIT, textOption, type Call } from '../command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { request } from '../daemon-request.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { checkOpen } from './kept-plan.ts';
import { OUTPUT_OPTION, outputFormat, printable, textStyle, writeData } from '../output.ts';

export const DECIDE_OPTIONS = { reason: REASON_OPTION, yes: YES_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION };

export async function decide(call: Call, decision: 'approve' | 'reject'): Promise<number> {
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
