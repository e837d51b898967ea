/** Common part of `approve` and `reject`: an operator decides on a shown plan. */
import { counted } from '#foundation/domain/counted.ts';
import { EXIT, textOption, type Call } from '../command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { checkOpen } from './kept-plan.ts';
import { OUTPUT_OPTION, outputFormat, printable, textStyle, writeData } from '../output.ts';

export const DECIDE_OPTIONS = { reason: REASON_OPTION, yes: YES_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION };

export async function decide(call: Call, decision: 'approve' | 'reject'): Promise<number> {
  const format = outputFormat(call.values);
  const daemon = await findDaemon(call);
  if (daemon === undefined) return EXIT.failed;
  const { requestDecision, requestStoredPlan } = await import('../daemon-client.ts');
  const { planText } = await import('./plan-text.ts');
  const kept = await requestStoredPlan(call.positionals[0]!, daemon);
  checkOpen(decision, kept, daemon.command);
  call.io.stderr.write(planText(kept.plan, { ...textStyle(call.io, 'stderr'), isAsked: true }));
  const acts = `${counted(kept.covers, 'action')} of ${printable(kept.plan.policy)}`;
  await confirm(call, decision === 'approve' ? `Approve ${acts}?` : `Reject ${acts}?`);
  const reason = textOption(call.values, 'reason')?.trim() ?? '';
  const decided = await requestDecision(decision, { plan: kept.id, ...(reason !== '' && { reason }) }, daemon);
  if (format !== 'table') {
    await writeData(call.io, format, { plan: decided });
    return EXIT.ok;
  }
  const then =
    decision === 'approve' ? `; the runs of ${printable(kept.plan.policy)} apply it, the first of them at once` : '';
  call.io.stdout.write(`Plan ${printable(kept.id)} is ${printable(String(decided['state']))}${then}.\n`);
  return EXIT.ok;
}
