import { counted, runNumbersText } from '#foundation/domain/counted.ts';
import type { RunOutcome } from '#foundation/domain/plan.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { RunSummary } from '#automate/ledger/commands.ts';
import { CommandError, EXIT, textOption } from '../command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import type { StoredPlanDetail } from '#operate/contract/plans.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { showKept } from './kept-plan.ts';
import { printable } from '../output.ts';
import { actText } from '#operate/show/plan-acts.ts';

export const applyCommand = daemonCommand({
  name: 'apply',
  summary: 'Apply the actions of a plan that are still valid now.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: { reason: REASON_OPTION, yes: YES_OPTION },
  details:
    'PLAN is the id that opsd plan printed. The daemon lists everything again and checks all guards: a plan can only ' +
    'shrink. One step of it runs now, once. If approval is required, this also approves the whole plan: later runs do ' +
    'the rest. A plan that a guard holds is not changed: opsd approve lets runs do it after the hold. Ctrl-C stops ' +
    'after the request in flight.\nExit code: 0 if it acted, 3 if a guard held it, 4 if a guard aborted or halted it, ' +
    '5 if nothing was left to do, 1 on an error.',
  examples: ['opsd apply 9f3c2a', "opsd apply 9f3c2a --yes --reason 'the destination is repaired'"],
  async answer(call, findDaemon) {
    const daemon = await findDaemon();
    const kept = await showKept(call, daemon, 'apply');
    if (kept.covers === 0)
      throw new CommandError(`plan ${printable(kept.id)} has no action, so there is nothing to apply`);
    await confirm(call, `${questionText(kept)}${allowanceText(kept)}?`);
    const body = { plan: kept.id, reason: textOption(call.values, 'reason')?.trim() || undefined };
    const { result } = await request(daemon, 'POST /api/v1/apply', { body }, 'result');
    return {
      data: { plan: kept.id, policy: kept.plan.policy, result },
      text: resultText(kept, result, daemon.command),
      code: EXIT_OF_OUTCOME[result.outcome] ?? EXIT.failed,
    };
  },
});

/** Question before a plan is applied. A held plan may be applied as far as the guards allow it now. */
function questionText({ plan, covers }: StoredPlanDetail): string {
  if (plan.chosen.length > 0) return `Apply: ${actText(plan)}`;
  const why = plan.stopped === undefined ? '' : ` (${plan.stopped.guard})`;
  return `The guards allowed none of its ${counted(covers, 'action')}${why}. Check again and do the actions that they allow now`;
}

/** Note that applying a plan also approves its later steps, if approval is required. */
function allowanceText({ plan, covers }: StoredPlanDetail): string {
  if (plan.effectiveMode !== 'approve' && plan.needsApproval === undefined) return '';
  return `; this also approves all ${counted(covers, 'action')} of the plan for later runs`;
}

export const EXIT_OF_OUTCOME: Readonly<Partial<Record<RunOutcome, number>>> = {
  acted: EXIT.ok,
  would_act: EXIT.held,
  nothing_to_do: EXIT.nothing,
  denied: EXIT.held,
  held: EXIT.held,
  pending_approval: EXIT.held,
  deferred: EXIT.held,
  skipped: EXIT.held,
  aborted: EXIT.aborted,
  halted: EXIT.aborted,
  incomplete: EXIT.aborted,
  failed: EXIT.failed,
};

export function resultText(
  { id, state }: Pick<StoredPlanDetail, 'id' | 'state'>,
  result: RunSummary,
  command: OwnCommand,
): string {
  const { outcome, acted, detail } = result;
  const said = detail === undefined ? '' : `; ${printable(detail)}`;
  const happened = `Plan ${printable(id)}: ${outcome.replaceAll('_', ' ')}`;
  if (acted > 0 || !UNCHANGED.has(outcome)) return `${happened} (${runNumbersText(result)})${said}\n`;
  if (state === 'approved') {
    return `${happened}, nothing was sent${said}\nIts approval is active; \`${printable(command(`reject ${id}`))}\` takes it back.\n`;
  }
  const later = `To let runs do it after the hold: ${printable(command(`approve ${id}`))}\n`;
  return `${happened}, nothing was changed${said}\n${outcome === 'nothing_to_do' ? '' : later}`;
}

/** Outcomes before the first request: the plan stays as it was. */
const UNCHANGED: ReadonlySet<RunOutcome> = new Set([
  'held',
  'deferred',
  'denied',
  'nothing_to_do',
  'aborted',
  'incomplete',
]);
