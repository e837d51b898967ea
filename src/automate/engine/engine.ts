/**
 * The one line from a policy to an act: decide, guard, act, record. `plan` is the line stopped one step earlier.
 */
import { leastMode, type Trigger } from '#foundation/domain/plan.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { breaker } from '../guardrails/campaign.ts';
import type { Condition, Verbs } from '../ledger/verbs.ts';
import type { Policy } from '../policies/policy.ts';
import { whenText } from '../policies/when-text.ts';
import { Authority } from './authority.ts';
import { judgeCampaigns, type Change } from './campaigns.ts';
import { clockDenial } from './clock-denial.ts';
import { Conditions } from './conditions.ts';
import type { EngineDeps } from './engine-deps.ts';
import { explain } from './explain.ts';
import { grantOf } from './grants.ts';
import { isAskedFirst, pendingStatus, pendingTriggers, reviewHold } from './holds.ts';
import { readEngine } from './readings.ts';
import { Rejections } from './rejections.ts';
import { about, holdKey } from './report.ts';
import { runPolicy, type RunOptions } from './run-policy.ts';
import type { RunResult } from './run-result.ts';
import { haltKey, shownGroup } from './shown-group.ts';
import { abandonIntents, settleActions } from './settle.ts';
import { Turns } from './turns.ts';
import { applyPlan, approvePlan, liftHalts, planPolicy, rejectPlan, type VerbDeps } from './verbs.ts';

export interface Engine extends Verbs {
  /** Without `nextRunAt`, which the scheduler knows. */
  statuses(): readonly PolicyStatus[];
  /** What the metrics show beside the policies. */
  readings(): EngineReadings;
  /**
   * One run. Aborting lets the request under way end, writes its outcome and leaves the rest; what went wrong is an
   * outcome in the ledger and an event, not a rejection.
   */
  run(policy: string, signal: AbortSignal, trigger?: Trigger): Promise<RunResult>;
  /** What stands beside the policies, and ends: told of and shown as theirs is. */
  readonly others: Pick<Conditions, 'stands' | 'ended'>;
  /** Pauses that could not be written down, for an engine that follows this one. */
  unwrittenPauses(): ReadonlyMap<string, string>;
  /** At start: conditions that an earlier process told of. Those of policies that run no more end. */
  takeUp(told: readonly Condition[]): void;
  /** At start, before the first run: what a crash left behind becomes unknown, then is resolved by reading. */
  recover(signal: AbortSignal): Promise<void>;
  /** Learns by reading what became of earlier acts. To be called every so often; never overlaps itself. */
  settle(signal: AbortSignal): Promise<void>;
}

/** A policy runs this often for a campaign that may go on or be probed, and for a trigger that a reading held. */
const CONTINUE_MS = 300_000;
/** Failure callbacks are gathered for 10 s before the policy runs for them. */
const FRESH_MS = 30_000;

export function createEngine(deps: EngineDeps & { runSoon(policy: string, trigger: Trigger): void }): Engine {
  const { ledger, clock, events } = deps;
  const byName = new Map(deps.policies.map((policy) => [policy.name, policy]));
  const authority = new Authority(deps);
  const conditions = new Conditions(deps);
  const turns = new Turns();
  const ranAt = new Map<string, number>();
  /** Runs for alerts and callbacks, without those that were held before they read anything. */
  const triggeredAt = new Map<string, number>();
  let settling: Promise<void> | undefined;

  const parts = {
    ...deps,
    byName,
    authority,
    conditions,
    inFlight: new Set<number>(),
    inStep: new Set<string>(),
    rejections: new Rejections(),
    listedAt: new Map<string, number>(),
  };

  async function inTurn(policy: Policy, options: RunOptions): Promise<RunResult> {
    return turns.take(policy.name, async () => {
      ranAt.set(policy.name, clock.monotonic());
      if ('key' in options.trigger) triggeredAt.set(policy.name, clock.monotonic());
      const result = await runPolicy(policy, options, parts);
      if (isAskedFirst(result.stopped?.guard, deps)) triggeredAt.delete(policy.name);
      return result;
    });
  }

  const verbs: VerbDeps = { ...parts, inTurn, runSoon: (policy) => deps.runSoon(policy, { kind: 'hand' }), settle };

  async function settleOnce(signal: AbortSignal): Promise<void> {
    abandonIntents(parts);
    noteAccounts();
    await settleActions(parts, signal);
    const changes = judgeCampaigns(byName, parts);
    for (const change of changes) tellCampaign(change);
    noteUnknown();
    noteApprovals();
    notePauses();
    reviewHolds();
    continueCampaigns(new Set(changes.map(({ after }) => after.policy)));
  }

  /** A store that must be adopted may lack raises: what it knows of an account begins with its adoption. */
  function noteAccounts(): void {
    if (ledger.mustBeAdopted !== undefined) return;
    for (const [account, { accountId }] of deps.accounts) {
      if (accountId === undefined || clockDenial(account, parts) !== undefined) continue;
      ledger.noteAccount(account, accountId, clock.now());
    }
  }

  function tellCampaign({ before, after }: Change): void {
    const { policy: name, state, step, size, reason } = after;
    const group = shownGroup(after.group);
    events.emit({
      type: 'campaign.changed',
      policy: name,
      account: after.account,
      group,
      state,
      step,
      size,
      ...(reason !== undefined && { reason }),
    });
    const key = haltKey(name, after.group);
    const policy = byName.get(name)!;
    if (state === 'halted' || state === 'audit') {
      const until = after.until === undefined ? 'a person lifts it' : new Date(after.until).toISOString();
      conditions.stands({
        key,
        severity: state === 'audit' ? 'critical' : 'warning',
        ...about(policy),
        group,
        guard: 'ramp',
        summary: state === 'audit' ? `Policy ${name} gave up on ${group}` : `Policy ${name} has halted ${group}`,
        detail: `${reason ?? 'reason not known'}; nothing is sent there until ${until}`,
      });
    } else if (before.halts > 0 && after.halts === 0) {
      conditions.ended(key);
    }
  }

  function noteUnknown(): void {
    const unknown = ledger.unknownOutcomes();
    for (const [name, count] of unknown) {
      conditions.stands({
        key: `unknown/${name}`,
        severity: 'warning',
        ...(byName.has(name) ? about(byName.get(name)!) : { policy: name }),
        summary: `Policy ${name} has acts whose outcome is not known`,
        detail: `${count} unknown; reading resolves them, and nothing is sent twice meanwhile`,
      });
    }
    conditions.keepOnly('unknown/', new Set([...unknown.keys()].map((name) => `unknown/${name}`)));
  }

  /** A plan that expired, or was decided elsewhere, waits no more. */
  function noteApprovals(): void {
    const waiting = ledger.storedPlans(['waiting'], clock.now());
    conditions.keepOnly('approval/', new Set(waiting.map(({ plan }) => `approval/${plan.policy}`)));
  }

  /** Pauses stand until a person lifts them; those of a group are told of as its halt. */
  function notePauses(): void {
    const pauses = ledger.pauses().filter(({ scope }) => !scope.startsWith('group/'));
    for (const { scope, reason, at, by } of pauses) {
      const policy = byName.get(scope.replace(/^policy\//, ''));
      conditions.stands({
        key: `paused/${scope}`,
        severity: by === 'engine' ? 'critical' : 'warning',
        ...(policy !== undefined && about(policy)),
        summary: `Paused: ${scope}`,
        detail: `${reason} (by ${by}); \`opsd unpause${policy === undefined ? '' : ` --policy ${policy.name}`} --reason TEXT\` lifts it`,
        since: at,
      });
    }
    conditions.keepOnly('paused/', new Set(pauses.map(({ scope }) => `paused/${scope}`)));
  }

  /** @param changed policies whose campaigns were judged just now: they go on at once */
  function continueCampaigns(changed: ReadonlySet<string>): void {
    const now = clock.now();
    const due = new Set<string>();
    for (const { policy, state, until = 0 } of ledger.campaigns()) {
      const mayGoOn = state === 'ready' || (state === 'halted' && until <= now);
      const found = byName.get(policy);
      if (!mayGoOn || found === undefined || turns.waiting(policy) > 0) continue;
      // Whoever wants each step asked for by a person has not asked for the next, unless by an approval of all.
      if ('byHand' in found.when && grantOf(found, ledger, now) === undefined) continue;
      if (changed.has(policy) || !isLately(ranAt.get(policy))) due.add(policy);
    }
    for (const policy of due) deps.runSoon(policy, { kind: 'campaign' });
  }

  /** Runs policies whose triggers were held, or came just before a crash. */
  function reviewHolds(): void {
    for (const policy of deps.policies) {
      const pending = reviewHold(policy, parts);
      if (pending === undefined || turns.waiting(policy.name) > 0) continue;
      // Whoever took the trigger runs the policy for it.
      if (Math.abs(clock.now() - pending.at) < FRESH_MS) continue;
      if (!isLately(triggeredAt.get(policy.name))) deps.runSoon(policy.name, pending.trigger);
    }
  }

  function isLately(ranAt = -Infinity): boolean {
    return clock.monotonic() - ranAt < CONTINUE_MS;
  }

  async function settle(signal: AbortSignal): Promise<void> {
    settling ??= settleOnce(signal).finally(() => {
      settling = undefined;
    });
    return settling;
  }

  return {
    statuses: () => deps.policies.map((policy) => statusOf(policy, parts)),
    readings: () => readEngine(parts),
    conditions: () => conditions.standing(),
    others: conditions,
    unwrittenPauses: () => authority.unwrittenPauses(),
    plan: async (name, request, signal) => planPolicy(name, request, verbs, signal),
    apply: async (id, person, signal) => applyPlan(id, person, verbs, signal),
    approve: (id, person) => approvePlan(id, person, verbs),
    reject: (id, person) => rejectPlan(id, person, verbs),
    explain: async (id, signal) => explain(id, verbs, signal),
    pause({ policy, reason, by }) {
      authority.pause(policy === undefined ? 'engine' : `policy/${policy}`, reason, by);
    },
    unpause({ policy, group, reason, by }) {
      const scope =
        policy === undefined ? undefined : group === undefined ? `policy/${policy}` : `group/${policy}/${group}`;
      return authority.unpause({ ...(scope !== undefined && { scope }), reason, by }) + liftHalts(scope, verbs);
    },
    async run(name, signal, trigger = { kind: 'schedule' }) {
      const policy = byName.get(name);
      if (policy === undefined) throw new Error(`there is no policy ${name}`);
      return inTurn(policy, { trigger, signal });
    },
    takeUp(told) {
      conditions.takeUp(told);
      const over = told.filter(({ key, policy = '' }) => {
        const runs = byName.has(policy) && byName.get(policy)!.mode !== 'off';
        return /^(?:held|halted)\//.test(key) && !runs;
      });
      for (const { key } of over) conditions.ended(key);
    },
    async recover(signal) {
      const unknown = abandonIntents(parts);
      if (unknown > 0) events.emit({ type: 'engine.recovered', unknown });
      await settle(signal);
    },
    settle,
  };
}

function statusOf(policy: Policy, deps: { authority: Authority; conditions: Conditions } & EngineDeps): PolicyStatus {
  const { authority, conditions, ledger } = deps;
  const { mode, reducedBy } = authority.mode(policy);
  const paused = authority.paused(policy);
  const probationLeft = authority.probationLeft(policy);
  const by = paused === undefined ? reducedBy : `paused: ${paused}`;
  const held = conditions.standing().find(({ key }) => key === holdKey(policy));
  return {
    name: policy.name,
    account: policy.account,
    action: policy.action.type,
    ...(policy.owner !== undefined && { owner: policy.owner }),
    ...(policy.description !== undefined && { description: policy.description }),
    source: policy.source,
    schedule: whenText(policy.when),
    mode: policy.mode,
    effectiveMode: paused === undefined ? mode : leastMode(mode, 'off'),
    ...(by !== undefined && { reducedBy: by }),
    ...(probationLeft > 0 && { probationLeft }),
    ...(held !== undefined && { held: { guard: held.guard ?? '', reason: held.detail, since: held.since } }),
    ...pendingStatus(pendingTriggers(policy, deps)),
    campaigns: ledger
      .campaigns()
      .filter((campaign) => campaign.policy === policy.name && campaign.state !== 'ended')
      .map((campaign) => ({ ...campaign, breaker: breaker(campaign) })),
  };
}
