/** Common part of `dlq resume`, `dlq delete` and `dlq prune`: shows a manual plan, asks, applies and follows it. */
import { counted } from '#foundation/domain/counted.ts';
import { keepAlive } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { selectionFault, type Selection } from '#foundation/domain/selection.ts';
import { allowedOf, type IdentifiedPlan, type Plan } from '#foundation/domain/plan.ts';
import type { RunSummary } from '#automate/ledger/commands.ts';
import { CommandError, EXIT, UsageError, type Call } from '../command.ts';
import { confirm, neededReason } from '../confirm.ts';
import { DaemonRejection, type DaemonCall } from '../daemon-exchange.ts';
import { PLAN_FIELDS, request } from '../daemon-request.ts';
import type { PlanProgress } from '#operate/contract/plans.ts';
import { findDaemon } from '../daemon-option.ts';
import { outputFormat, printable, textStyle, writeData } from '../output.ts';
import { EXIT_OF_OUTCOME, resultText } from './apply.ts';
import { actText } from '#operate/show/plan-acts.ts';
import { settingsOf } from './plan.ts';

type OutputFormat = ReturnType<typeof outputFormat>;

const EVERY_MS = 2_000;

/** Change of a message; the body is base64. */
interface Edit {
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** @param selections alternatives, if only the daemon knows the queue of the ids */
export async function runManualPlan(
  call: Call & { readonly edit?: Edit },
  ...selections: readonly [Selection, ...Selection[]]
): Promise<number> {
  const format = outputFormat(call.values);
  const fault = selectionFault(selections[0], call.io.clock.now());
  if (fault !== undefined) throw new UsageError(fault);
  const reason = neededReason(call, 'why are you doing this?');
  const settings = settingsOf(call.values);
  const daemon = await findDaemon(call);
  const { planText } = await import('./plan-text.ts');
  const overrule = Object.keys(settings).length > 0 ? { settings } : undefined;
  const plan = await planOfFirst(selections, { reason, overrule, edit: call.edit }, daemon);
  call.io.stderr.write(planText(plan, { ...textStyle(call.io, 'stderr'), isAsked: true }));
  if (allowedOf(plan) === 0 || plan.state === 'aborted') return withoutAction(call, format, plan);
  const { id } = plan;
  if (id === undefined) throw new CommandError(`the plan was not stored: ${plan.stopped?.reason ?? 'try again'}`);
  await confirm(call, questionText(plan));
  const { result } = await request(daemon, 'POST /api/v1/apply', { body: { plan: id, reason } }, 'result');
  const applied = EXIT_OF_OUTCOME[result.outcome] ?? EXIT.failed;
  // A plan that a guard holds, or that has nothing left, was not decided.
  const isUnchanged = applied === EXIT.held || applied === EXIT.nothing;
  if (!isUnchanged) call.io.stderr.write(hintText({ ...plan, id }, daemon));
  if (isUnchanged || (call.values['wait'] !== true && call.values['watch'] !== true)) {
    await writeResult(call, format, { plan: { ...plan, id }, result }, daemon);
    return applied;
  }
  const progress = await follow(call, id, daemon);
  await writeResult(call, format, { plan: { ...plan, id }, result, progress }, daemon);
  return exitOf(progress);
}

/** Makes a manual plan of the first selection whose queue has the ids. */
async function planOfFirst(
  [selection, ...others]: readonly [Selection, ...Selection[]],
  options: {
    readonly reason: string;
    readonly overrule: { readonly settings: Readonly<Record<string, string>> } | undefined;
    readonly edit: Edit | undefined;
  },
  daemon: DaemonCall,
): Promise<Plan> {
  try {
    return await request(daemon, 'POST /api/v1/plan', { body: { selection, ...options } }, ...PLAN_FIELDS);
  } catch (error) {
    const isElsewhere = error instanceof DaemonRejection && ['other_queue', 'unknown_id'].includes(error.code);
    const [second, ...rest] = others;
    if (!isElsewhere || second === undefined) throw error;
    return planOfFirst([second, ...rest], options, daemon);
  }
}

/** Ends with the state of a plan that cannot be applied. */
async function withoutAction(call: Call, format: OutputFormat, plan: Plan): Promise<number> {
  if (format !== 'table') await writeData(call.io, format, { plan: plan.id, policy: plan.policy, state: plan.state });
  if (plan.state === 'aborted') return EXIT.aborted;
  call.io.stderr.write('Nothing matches, so there is nothing to do.\n');
  return plan.state === 'held' ? EXIT.held : EXIT.ok;
}

function questionText(plan: Plan): string {
  const all = allowedOf(plan) > plan.chosen.length && plan.action !== 'message-dlq.prune';
  const rest = all
    ? `; the plan covers all ${counted(allowedOf(plan), 'entry', 'entries')}, and later runs do the rest`
    : '';
  if (plan.chosen.length > 0) return `Apply: ${actText(plan)}${rest}?`;
  const why = plan.stopped === undefined ? '' : ` (${plan.stopped.guard})`;
  return `A guard holds the plan now${why}. Check again and do what the guards allow now${rest}?`;
}

function hintText({ id, policy, action }: IdentifiedPlan, daemon: DaemonCall): string {
  if (action === 'message-dlq.prune') return '';
  return [
    'The daemon continues the plan by itself.',
    `Follow: /plans/${id} of the daemon’s pages, or GET /api/v1/plans/${id}`,
    `Pause:  ${daemon.command(`pause --policy ${policy} --reason TEXT`)}`,
    `Cancel: ${daemon.command(`cancel ${id} --reason TEXT`)}\n`,
  ].join('\n');
}

interface Done {
  readonly plan: IdentifiedPlan;
  readonly result: RunSummary;
  readonly progress?: PlanProgress;
}

async function writeResult(
  { io }: Call,
  format: OutputFormat,
  { plan, result, progress }: Done,
  { command }: DaemonCall,
): Promise<void> {
  const kept = { id: plan.id, state: 'draft' } as const;
  if (format === 'table')
    io.stdout.write(
      progress === undefined ? resultText(kept, result, command) : `${progressText(plan.id, progress)}\n`,
    );
  else await writeData(io, format, { plan: plan.id, policy: plan.policy, result, ...(progress && { progress }) });
}

/** Reports each change of the progress, until the plan is finished. Ctrl-C ends only the report. */
async function follow({ io }: Call, id: string, daemon: DaemonCall): Promise<PlanProgress> {
  using _alive = keepAlive();
  let last = '';
  for (;;) {
    const { progress } = (await request(daemon, 'GET /api/v1/plans/{id}', { id }, 'plan')).plan;
    if (progress === undefined)
      throw new CommandError(`the daemon has no progress of plan ${id}; it may be another version of opsd`);
    const text = progressText(id, progress);
    if (text !== last) io.stderr.write(`${text}\n`);
    last = text;
    if (progress.finished || progress.state === 'expired') return progress;
    try {
      await sleep(io.clock, EVERY_MS, io.signal);
    } catch (error) {
      if (!io.signal.aborted) throw error;
      io.stderr.write('The plan continues without this command.\n');
      return progress;
    }
  }
}

function progressText(id: string, progress: PlanProgress): string {
  const { state, sent, verified, failedAgain, unknown, left, deleted, held } = progress;
  const parts = [
    `${sent} sent`,
    `${verified} verified`,
    failedAgain > 0 && `${failedAgain} failed again`,
    unknown > 0 && `${unknown} unknown`,
    left !== undefined && `${left} left`,
    deleted !== undefined && `${deleted} deleted`,
  ].filter((part) => part !== false);
  const why = held === undefined ? '' : `; ${held.guard}: ${held.reason}`;
  return printable(`Plan ${id}: ${state}, ${parts.join(', ')}${why}`);
}

/** Exit code of a followed plan. A failed, unknown or unsent entry is a finding. */
function exitOf({ state, finished, failedAgain, unknown, left = 0 }: PlanProgress): number {
  if (state === 'cancelled') return EXIT.aborted;
  return finished && failedAgain + unknown + left === 0 ? EXIT.ok : EXIT.findings;
}
