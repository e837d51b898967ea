/** Progress of a stored plan: what became of its entries since it was applied or approved, and what it waits for. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { isRepair, isRepairProposal, type Denial } from '#foundation/domain/plan.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { Campaigns } from '#automate/ledger/campaigns.ts';
import type { Condition, EngineCommands } from '#automate/ledger/commands.ts';
import type { Pauses } from '#automate/ledger/pauses.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import type { PlanPeriod, Reports } from '#automate/ledger/reports.ts';
import type { PlanProgress } from '../contract/plans.ts';

type EffectCounts = Pick<PlanProgress, 'sent' | 'verified' | 'failedAgain' | 'rejected' | 'unknown'>;

interface ProgressDeps {
  readonly ledger: Pick<Reports, 'actionsOf'> & Pick<Campaigns, 'campaigns'> & Pick<Pauses, 'pauses'>;
  readonly engine: Pick<EngineCommands, 'conditions'>;
}

/** @returns undefined for a plan of a policy that was not applied or approved */
export async function planProgress(
  stored: StoredPlan,
  { ledger, engine }: ProgressDeps,
): Promise<PlanProgress | undefined> {
  const { plan, targets } = stored;
  const period = periodOf(stored);
  if (period === undefined && plan.manual === undefined) return undefined;
  const [actions, campaigns, pauses] = await Promise.all([
    ledger.actionsOf(plan.policy, plan.manual === undefined ? period : undefined),
    ledger.campaigns(),
    ledger.pauses(),
  ]);
  const groups = new Set(plan.campaigns.map(({ group }) => group));
  const live = campaigns.filter(
    ({ policy, group }) => policy === plan.policy && (plan.manual !== undefined || groups.has(group)),
  );
  const counts = countsOf(actions);
  const isPrune = plan.action === 'message-dlq.prune';
  const taken = new Set(actions.filter((action) => !isWithoutEffect(action)).map(({ proposal }) => proposal.target));
  const settling = live.filter(({ state }) => state === 'settling');
  const until = settling.flatMap(({ until }) => until ?? []);
  const pause = pauses.find(({ scope }) => scope === 'engine' || scope === `policy/${plan.policy}`);
  const condition = engine.conditions().find(({ key }) => key === `held/${plan.policy}`);
  const held = stored.state !== 'approved' ? undefined : heldBy(pause, condition);
  const isOpen = actions.some(isUnsettled);
  const state = stateOf(stored, { isPaused: pause !== undefined, isHeld: held !== undefined, isSettling: isOpen });
  return {
    state,
    ...counts,
    left: isPrune ? undefined : targets.filter((target) => !taken.has(target)).length,
    deleted: isPrune ? actions.reduce((sum, { done = 0 }) => sum + done, 0) : undefined,
    step: live.length > 0 ? Math.max(...live.map(({ step }) => step)) : undefined,
    settlesAt: until.length > 0 ? Math.max(...until) : undefined,
    held,
    campaigns: isRepair(plan.action) ? groupsOf(actions, live) : [],
    finished: stored.state !== 'approved' && stored.state !== 'draft' && !isOpen,
  };
}

/** Period in which actions on the plan's targets are its progress: later ones are those of other plans. */
function periodOf({ plan, targets, state, approvedAt, decidedAt }: StoredPlan): PlanPeriod | undefined {
  const from = approvedAt ?? (state === 'applied' ? decidedAt : undefined);
  if (from === undefined) return undefined;
  const isOver = state !== 'approved' && state !== 'applied';
  return { plan: plan.id, targets, from, to: (isOver ? decidedAt : undefined) ?? Number.MAX_SAFE_INTEGER };
}

function stateOf(
  { state }: StoredPlan,
  now: { readonly isPaused: boolean; readonly isHeld: boolean; readonly isSettling: boolean },
): PlanProgress['state'] {
  if (state === 'pending') return 'draft';
  if (state === 'applied') return now.isSettling ? 'settling' : 'finished';
  if (state !== 'approved') return state;
  if (now.isPaused) return 'paused';
  if (now.isSettling) return 'settling';
  return now.isHeld ? 'held' : 'running';
}

function heldBy(pause: { readonly reason: string } | undefined, condition: Condition | undefined): Denial | undefined {
  if (pause !== undefined) return { guard: 'kill_switch', reason: pause.reason };
  return condition && { guard: condition.guard ?? 'error', reason: condition.detail, ...condition.denial };
}

function groupsOf(actions: readonly ActionRecord[], live: readonly Campaign[]): PlanProgress['campaigns'] {
  const byGroup = Map.groupBy(actions, ({ proposal }) => proposal.group);
  const groups = new Set([...byGroup.keys(), ...live.map(({ group }) => group)]);
  return [...groups].toSorted().map((group) => {
    const own = byGroup.get(group) ?? [];
    const { state = 'ended', step, until, reason }: Partial<Campaign> = live.find((one) => one.group === group) ?? {};
    return {
      group,
      state,
      step: step ?? Math.max(0, ...own.map(stepOf)),
      ...countsOf(own),
      until,
      reason,
    };
  });
}

function stepOf({ proposal }: ActionRecord): number {
  return isRepairProposal(proposal) ? (proposal.campaign?.step ?? 0) : 0;
}

function countsOf(actions: readonly ActionRecord[]): EffectCounts {
  const of = (...outcomes: readonly ActionRecord['outcome'][]): number =>
    actions.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const rejected = of('rejected', 'confirmed_not_applied');
  return {
    sent: actions.length - rejected,
    verified: of('delivered', 'verified', 'confirmed_applied'),
    failedAgain: of('failed_again'),
    rejected,
    unknown: of('unknown', 'unresolvable', 'unverified'),
  };
}

function isWithoutEffect({ outcome }: ActionRecord): boolean {
  return outcome === 'rejected' || outcome === 'confirmed_not_applied';
}

/** Returns true while a later reading can change the outcome. */
function isUnsettled({ outcome }: ActionRecord): boolean {
  return outcome === undefined || outcome === 'accepted' || outcome === 'delivered' || outcome === 'unknown';
}
