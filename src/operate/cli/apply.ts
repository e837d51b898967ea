import type { RunOutcome } from '#foundation/domain/plan.ts';
import type { RunSummary } from '#automate/ledger/verbs.ts';
import { CommandError, EXIT, textOption, type Command } from './command.ts';
import { confirm, REASON_OPTION, YES_OPTION } from './confirm.ts';
import type { KeptPlan } from './daemon-client.ts';
import { DAEMON_OPTIONS, findDaemon } from './daemon-option.ts';
import { checkOpen } from './kept-plan.ts';
import { OUTPUT_OPTION, outputFormat, printable, textStyle, writeData } from './output.ts';
import { actText, counted } from './plan-acts.ts';

export const applyCommand: Command = {
  name: 'apply',
  summary: 'Do now what a plan showed, as far as it still holds.',
  operands: { usage: 'PLAN', min: 1, max: 1 },
  options: { reason: REASON_OPTION, yes: YES_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'PLAN is the id that opsd plan gave. Everything is listed and asked of the guards again: a plan can only shrink. One\n' +
    'step of it is done now, once. Where a person is needed, this is also the approval of all that was shown: later runs\n' +
    'do the rest. Ctrl-C ends it after the request under way. Exit code 0 when it acted or nothing was left to do,\n' +
    '3 when a guard held it, 4 when a guard aborted or halted it, 1 on an error.',
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const { requestApply, requestStoredPlan } = await import('./daemon-client.ts');
    const { planText } = await import('./plan-text.ts');

    const kept = await requestStoredPlan(call.positionals[0]!, daemon);
    checkOpen('apply', kept, daemon.command);
    call.io.stderr.write(planText(kept.plan, { ...textStyle(call.io, 'stderr'), isAsked: true }));
    if (kept.covers === 0) throw new CommandError(`plan ${printable(kept.id)} holds no act: there is nothing to apply`);
    await confirm(call, `${questionText(kept)}${allowanceText(kept)}?`);
    const { result } = await requestApply(kept.id, textOption(call.values, 'reason')?.trim() || undefined, daemon);
    if (format === 'table') call.io.stdout.write(resultText(kept.id, result));
    else await writeData(call.io, format, { plan: kept.id, policy: kept.plan.policy, result });
    return EXIT_OF_OUTCOME[result.outcome] ?? EXIT.failed;
  },
};

/** A plan that was held may be done as far as the guards allow it now. */
function questionText({ plan, covers }: KeptPlan): string {
  if (plan.chosen.length > 0) return `Do it: ${actText(plan)}`;
  const why = plan.stopped === undefined ? '' : ` (${plan.stopped.guard})`;
  return `The guards allowed none of its ${counted(covers, 'act')}${why}. Try again, and do what they allow now`;
}

/** Where a person is needed, applying a plan allows what the steps after this one do, too. */
function allowanceText({ plan, covers }: KeptPlan): string {
  if (plan.effectiveMode !== 'approve' && plan.needsApproval === undefined) return '';
  return `; this also allows later runs all ${counted(covers, 'act')} that were shown`;
}

const EXIT_OF_OUTCOME: Readonly<Partial<Record<RunOutcome, number>>> = {
  acted: EXIT.ok,
  nothing_to_do: EXIT.ok,
  held: EXIT.held,
  pending_approval: EXIT.held,
  deferred: EXIT.held,
  skipped: EXIT.held,
  aborted: EXIT.aborted,
  halted: EXIT.aborted,
  incomplete: EXIT.aborted,
  failed: EXIT.failed,
};

function resultText(id: string, { outcome, acted, backlog, detail }: RunSummary): string {
  const left = backlog === 0 ? '' : `, ${backlog.toLocaleString('en-US')} left for later runs`;
  const said = detail === undefined ? '' : `; ${printable(detail)}`;
  return `Plan ${printable(id)}: ${outcome.replaceAll('_', ' ')}, ${acted.toLocaleString('en-US')} acted on${left}${said}\n`;
}
