/** Engine: decides, checks guards, acts and records. `plan` is a run that ends before it acts. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { leastMode, type Trigger } from '#foundation/domain/plan.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { breaker } from '../guardrails/campaign.ts';
import type { Ledger, StatusReads } from '../ledger/ledger.ts';
import type { Pause } from '../ledger/pauses.ts';
import type { Condition, EngineCommands } from '../ledger/commands.ts';
import type { Policy } from '../policies/policy.ts';
import { configuredStatus } from '../policies/when-text.ts';
import {
  applyPlan,
  approvePlan,
  liftHalts,
  planPolicy,
  rejectPlan,
  type EngineCommandDeps,
} from './commands/commands.ts';
import { explainId } from './commands/explain.ts';
import { cancelPlan, planManually } from './commands/manual-commands.ts';
import type { EngineDeps } from './facts/engine-deps.ts';
import { Authority } from './guard/authority.ts';
import { clockDenial, isStopped } from './guard/checks.ts';
import { Conditions } from './guard/conditions.ts';
import type { EngineParts } from './guard/engine-parts.ts';
import { Rejections } from './guard/rejections.ts';
import { readEngine } from './readings.ts';
import {
  announceApprovals,
  announceCampaign,
  announceKillSwitch,
  announcePauses,
  announceUnknown,
  holdKey,
} from './run/report.ts';
import { pendingStatus, heldTriggers } from './run/holds.ts';
import { ManualPlans } from './run/manual-plans.ts';
import { readOpenWork, type OpenWork } from './run/open-work.ts';
import { endUnwanted } from './run/grants.ts';
import type { PolicyRunOptions } from './run/run-policy.ts';
import { skipped, type RunResult } from './run/run-result.ts';
import { RunTurns } from './run/run-turns.ts';
import { judgeCampaigns, type CampaignChange } from './settle/campaigns.ts';
import { abandonIntents, settleActions } from './settle/settle.ts';

export interface Engine extends EngineCommands {
  /** Returns true if the policy exists: in the configuration, or as a manual plan in progress. */
  has(policy: string): boolean;
  /**
   * Statuses without `nextRunAt`, which only the scheduler knows.
   *
   * @param ledger view of the ledger; default: one of its own
   */
  statuses(ledger?: StatusReads): Promise<readonly PolicyStatus[]>;
  /**
   * Readings for metrics, apart from the policies.
   *
   * @param ledger view of the ledger
   */
  readings(ledger: Ledger): Promise<EngineReadings>;
  /**
   * Runs a policy once. An abort lets the request in flight finish, records its outcome and leaves the rest. Failures
   * are outcomes in the ledger and events; the promise does not reject.
   */
  run(policy: string, signal: AbortSignal, trigger?: Trigger): Promise<RunResult>;
  /** Conditions of other parts of the daemon, reported and shown like those of policies. */
  readonly others: Pick<Conditions, 'raise' | 'resolve'>;
  /** Pauses that could not be stored, for the next engine. */
  unwrittenPauses(): Map<string, Pause>;
  /** Returns why manual plans of an account cannot be applied in its mode. */
  reducedMode(account: string): string | undefined;
  /**
   * Restores conditions of an earlier process at the start. The first settling resolves those of policies that no longer
   * run.
   */
  restore(told: readonly Condition[]): void;
  /** Recovers after a crash, before the first run: open intents become unknown, then reads resolve them. */
  recover(signal: AbortSignal): Promise<void>;
  /** Resolves the outcomes of earlier actions by reading. Call it periodically; it never overlaps itself. */
  settle(signal: AbortSignal): Promise<void>;
}

export function createEngine(deps: EngineDeps & { runSoon(policy: string, trigger: Trigger): void }): Engine {
  let settling: Promise<void> | undefined;
  const parts: EngineParts & Pick<typeof deps, 'runSoon'> = {
    ...deps,
    byName: new Map(deps.policies.map((policy) => [policy.name, policy])),
    authority: new Authority(deps),
    conditions: new Conditions(deps),
    inFlight: new Set(),
    verdicts: new OneByOne(),
    inStep: new Set(),
    rejections: new Rejections(),
    listedAt: new Map(),
  };
  const { byName, authority, conditions } = parts;
  const manual = new ManualPlans(parts);
  const turns = new RunTurns({ ...parts, manual });
  const commands: EngineCommandDeps = {
    ...parts,
    manual,
    inTurn,
    runSoon: (policy) => deps.runSoon(policy, { kind: 'hand' }),
    settle,
  };

  async function inTurn(policy: Policy, options: PolicyRunOptions): Promise<RunResult> {
    if (policy.manual === undefined) return turns.take(policy, options);
    return manual.during(policy, options.signal, (signal) => turns.take(policy, { ...options, signal }));
  }

  async function settleOnce(signal: AbortSignal): Promise<void> {
    await announceKillSwitch(parts);
    await authority.storeUnwritten();
    await manual.review();
    resolveOver(parts);
    const open = await parts.ledger.openActions();
    await abandonIntents(open, parts);
    await noteAccounts(parts);
    await settleActions(open, parts, signal);
    // The next engine settles first.
    if (isStopped(signal)) return;
    const changes = await judgeAndAnnounce(parts);
    await endUnwanted(parts);
    const work = await announceOpenWork(parts);
    await turns.reviewHolds(work);
    await manual.review();
    turns.continueCampaigns(work, new Set(changes.map(({ after }) => after.policy)));
  }

  async function settle(signal: AbortSignal): Promise<void> {
    settling ??= settleOnce(signal).finally(() => {
      settling = undefined;
    });
    return settling;
  }

  return {
    statuses: (ledger) => statusesOf(parts, ledger),
    readings: (ledger) => readEngine(parts, ledger),
    conditions: () => conditions.active(),
    others: conditions,
    has: (policy) => byName.has(policy),
    unwrittenPauses: () => authority.unwrittenPauses(),
    reducedMode(account) {
      const { mode, reducedBy } = authority.mode({ account, mode: 'approve' });
      return mode === 'off' || mode === 'audit' ? `account ${account} is in mode ${mode}: ${reducedBy}` : undefined;
    },
    plan: async (name, request, signal) => planPolicy(name, request, commands, signal),
    apply: async (id, person, signal) => applyPlan(id, person, commands, signal),
    planManually: async (request, signal) => planManually(request, commands, signal),
    cancel: async (id, person) => cancelPlan(id, person, commands),
    approve: async (id, person) => approvePlan(id, person, commands),
    reject: async (id, person) => rejectPlan(id, person, commands),
    explain: async (id, signal) => explainId(id, commands, signal),
    async pause({ policy, reason, by }) {
      await authority.pause(policy === undefined ? 'engine' : `policy/${policy}`, reason, by);
    },
    async unpause({ policy, group, reason, by }) {
      const scope =
        policy === undefined ? undefined : group === undefined ? `policy/${policy}` : `group/${policy}/${group}`;
      const pauses = await authority.unpause({ scope, reason, by });
      return pauses + (await liftHalts(scope, commands));
    },
    stillPaused: async (policy) => authority.stillPaused(policy),
    async run(name, signal, trigger = { kind: 'schedule' }) {
      const policy = byName.get(name);
      // A run of a manual plan may be due when the plan has just ended.
      if (policy === undefined && manualPlanId(name) !== undefined) return skipped();
      if (policy === undefined) throw new Error(`policy ${name} does not exist`);
      return inTurn(policy, { trigger, signal });
    },
    restore: (told) => conditions.restore(told),
    async recover(signal) {
      const unknown = await abandonIntents(await parts.ledger.openActions(), parts);
      if (unknown > 0) deps.events.emit({ type: 'engine.recovered', unknown });
      await settle(signal);
    },
    settle,
  };
}

/** Announces what it reads at once: a command may announce a later state. */
async function announceOpenWork(deps: EngineParts): Promise<OpenWork> {
  const work = await readOpenWork(deps);
  announceUnknown(work.unknown, deps);
  announceApprovals(work.plans, deps);
  announcePauses(work.pauses, deps);
  return work;
}

/** Resolves the holds and halts of policies that do not run any more: of the configuration, or of a manual plan. */
function resolveOver({ byName, conditions }: EngineParts): void {
  for (const { key, policy = '' } of conditions.active()) {
    const isOff = (byName.get(policy)?.mode ?? 'off') === 'off';
    if (isOff && /^(?:held|halted)\//.test(key)) conditions.resolve(key);
  }
}

/** Judges in turn with the commands that lift halts: the last change decides which condition is active. */
async function judgeAndAnnounce(deps: EngineParts): Promise<readonly CampaignChange[]> {
  return deps.verdicts.run(async () => {
    const changes = await judgeCampaigns(deps);
    for (const change of changes) announceCampaign(change, deps);
    return changes;
  });
}

/**
 * Records the time since which the store has every raise of an account. A store that must be adopted can lack raises.
 */
async function noteAccounts(deps: EngineDeps): Promise<void> {
  const { accounts, ledger, clock } = deps;
  if (ledger.mustBeAdopted !== undefined) return;
  const watched = [...accounts].flatMap(([account, { accountId: id }]) =>
    id === undefined || clockDenial(account, deps) !== undefined ? [] : [{ account, id }],
  );
  await ledger.noteAccounts(watched, clock.now());
}

async function statusesOf(deps: EngineParts, ledger?: StatusReads): Promise<readonly PolicyStatus[]> {
  if (ledger === undefined) return deps.ledger.view((view) => statusesOf(deps, view));
  const { policies, authority, clock } = deps;
  const [paused, probations, triggers, open] = await Promise.all([
    authority.allPaused(policies, ledger),
    authority.probations(policies, ledger),
    heldTriggers(policies, { ledger, clock }),
    ledger.campaigns(),
  ]);
  const campaigns = Map.groupBy(open, ({ policy }) => policy);
  const held = new Map(deps.conditions.active().map((condition) => [condition.key, condition]));
  return policies.map((policy): PolicyStatus => {
    const { name } = policy;
    const pause = paused.get(name);
    const { mode, reducedBy } = authority.mode(policy);
    const hold = held.get(holdKey(policy));
    return {
      ...configuredStatus(policy),
      effectiveMode: pause === undefined ? mode : leastMode(mode, 'off'),
      reducedBy: pause === undefined ? reducedBy : `paused: ${pause.reason}; ${pause.remedy}`,
      probationLeft: probations.get(name) || undefined,
      held: hold && { guard: hold.guard ?? '', reason: hold.detail, ...hold.denial, since: hold.since },
      ...pendingStatus(triggers.get(name) ?? []),
      campaigns: (campaigns.get(name) ?? []).map((campaign) => ({ ...campaign, breaker: breaker(campaign) })),
    };
  });
}
