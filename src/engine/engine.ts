/**
 * The one line from a policy to an act: decide, guard, act, record. `plan` is the line stopped one step earlier.
 */
import type { Actions } from '../actions/index.ts';
import { formatDuration } from '../domain/duration.ts';
import { leastMode, type Plan, type PolicyMode } from '../domain/plan.ts';
import type { PolicyStatus } from '../domain/policy-status.ts';
import type { AuthorityFacts, Guard } from '../guardrails/guard.ts';
import { GUARDS } from '../guardrails/index.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';
import { decide, firstDenial, guardsAt, modeInEffect, unreadPlan } from './decide.ts';
import { execute } from './execute.ts';
import { Rejections } from './rejections.ts';
import { concluded, ledgerFields, unacted, type RunResult } from './run-result.ts';
import { abandonIntents, settleActions } from './settle.ts';

export interface EngineDeps {
  readonly policies: readonly Policy[];
  readonly settings: EngineSettings;
  readonly actions: Actions;
  readonly ledger: Ledger;
  readonly board: ObservationBoard;
  readonly clock: Clock;
  readonly events: EventBus;
  /** OPSD_MODE: it can only lower. */
  readonly ceiling?: PolicyMode;
  /** Why everything is paused, or undefined. It is asked before every request; one that throws counts as a pause. */
  killSwitch(): string | undefined;
  /** Milliseconds after which an act is judged by what is listed; default 5 min. */
  readonly settleMs?: number;
  readonly guards?: readonly Guard[];
}

export interface Engine {
  /** Without `nextRunAt`, which the scheduler knows. */
  statuses(): readonly PolicyStatus[];
  /**
   * Reads and decides; never acts, never writes. Undefined when there is no such policy.
   * Rejects with the signal's reason.
   */
  plan(policy: string, signal: AbortSignal): Promise<Plan | undefined>;
  /**
   * One scheduled run. Aborting lets the request under way end, writes its outcome and leaves the rest; what went
   * wrong is an outcome in the ledger and an event, not a rejection.
   */
  run(policy: string, signal: AbortSignal): Promise<void>;
  /** At start, before the first run: what a crash left behind becomes unknown, then is resolved by reading. */
  recover(signal: AbortSignal): Promise<void>;
  /** Learns by reading what became of earlier acts. To be called every so often; never overlaps itself. */
  settle(signal: AbortSignal): Promise<void>;
  /** Lifts the pauses that the engine put on itself; `reason` is kept. @returns how many there were */
  unpause(reason: string): number;
}

const SETTLE_MS = 300_000;

export function createEngine(deps: EngineDeps): Engine {
  const { ledger, clock, events, settings } = deps;
  const guards = deps.guards ?? GUARDS;
  const policies = new Map(deps.policies.map((policy) => [policy.name, policy]));
  /** Pauses that could not be written down: they hold as long as this process. */
  const unwritten = new Map<string, string>();
  const inFlight = new Set<number>();
  let settling: Promise<void> | undefined;

  const parts = {
    ...deps,
    guards,
    inFlight,
    rejections: new Rejections(),
    listedAt: new Map<string, number>(),
    settleMs: deps.settleMs ?? SETTLE_MS,
    authorityOf,
    pauseEngine: (reason: string) => pause('engine', reason),
  };

  /** Stands until a person lifts it, across restarts: a restart must not be how an automation gets its trust back. */
  function pause(scope: string, reason: string): void {
    try {
      ledger.pause({ scope, reason, at: clock.now() });
    } catch (error) {
      unwritten.set(scope, reason);
      events.emit({ type: 'store.failed', operation: 'pause', message: (error as Error).message });
    }
    events.emit({ type: 'engine.paused', scope, reason });
  }

  /** A store that cannot be read counts as a pause: it may hold one, and nothing could be written down anyhow. */
  function pausedBy(scopes: readonly string[]): string | undefined {
    const standing = new Map(unwritten);
    try {
      for (const { scope, reason } of ledger.pauses()) standing.set(scope, reason);
    } catch (error) {
      return `the store cannot be read: ${(error as Error).message}`;
    }
    const reason = scopes.map((scope) => standing.get(scope)).find((found) => found !== undefined);
    return reason === undefined ? undefined : `${reason}; opsd unpause lifts it`;
  }

  function authorityOf(policy: Policy): AuthorityFacts {
    const paused = pausedBy(['engine', policyScope(policy.name)]) ?? askKillSwitch(deps);
    const mode = leastMode(policy.settings.mode, settings.mode, deps.ceiling ?? 'enforce');
    return { mode, ...(paused !== undefined && { paused }) };
  }

  async function run(name: string, signal: AbortSignal): Promise<void> {
    const policy = policies.get(name);
    if (policy === undefined) throw new Error(`there is no policy ${name}`);
    const at = clock.now();
    const authority = authorityOf(policy);
    if (authority.mode === 'off') {
      report(policy, at, { outcome: 'skipped', matched: 0, acted: 0, backlog: 0 });
      return;
    }
    let runId: number | undefined;
    let plan: Plan | undefined;
    try {
      const denial = firstDenial(guardsAt(guards, 'run'), authority);
      plan =
        denial === undefined
          ? await decide(policy, authority, parts, signal)
          : unreadPlan(policy, authority, at, denial);
      runId = ledger.beginRun(plan, at);
      const result =
        plan.state === 'changes'
          ? concluded(policy, plan, await execute(policy, { id: runId, plan }, parts, signal))
          : unacted(plan);
      if (result.imbalanced) pause(policyScope(name), result.detail ?? 'books');
      ledger.finishRun(runId, { at: clock.now(), ...ledgerFields(result) });
      report(policy, at, result, plan);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      events.emit({ type: 'store.failed', operation: `run of policy ${name}`, message });
      const result = { outcome: 'error' as const, matched: 0, acted: 0, backlog: 0, detail: message };
      try {
        if (runId !== undefined) ledger.finishRun(runId, { at: clock.now(), ...result });
      } catch {
        // The ledger is what failed, and the event above has said so.
      }
      report(policy, at, { ...result, error: message }, plan);
    }
  }

  function report(policy: Policy, at: number, result: RunResult, plan?: Plan): void {
    const denials = new Map<string, number>();
    for (const { guard, count } of plan?.skipped ?? []) denials.set(guard, (denials.get(guard) ?? 0) + count);
    events.emit({
      type: 'policy.run',
      policy: policy.name,
      account: policy.account,
      at,
      outcome: result.outcome,
      matched: result.matched,
      acted: result.acted,
      backlog: result.backlog,
      denials: [...denials].map(([guard, count]) => ({ guard, count })),
      evaluationErrors: plan?.evaluationErrors ?? 0,
      ...(result.stopped !== undefined && { stopped: result.stopped }),
      ...(result.error !== undefined && { error: result.error }),
    });
  }

  async function settle(signal: AbortSignal): Promise<void> {
    settling ??= (async () => {
      abandonIntents(parts);
      await settleActions(parts, signal);
    })().finally(() => {
      settling = undefined;
    });
    return settling;
  }

  return {
    statuses: () => deps.policies.map((policy) => statusOf(policy, authorityOf(policy), deps)),
    async plan(name, signal) {
      signal.throwIfAborted();
      const policy = policies.get(name);
      if (policy === undefined) return undefined;
      const plan = await decide(policy, authorityOf(policy), parts, signal);
      signal.throwIfAborted();
      return plan;
    },
    run,
    async recover(signal) {
      const unknown = abandonIntents(parts);
      if (unknown > 0) events.emit({ type: 'engine.recovered', unknown });
      await settle(signal);
    },
    settle,
    unpause(reason) {
      const lifted = ledger.unpause({ at: clock.now(), reason }) + unwritten.size;
      unwritten.clear();
      events.emit({ type: 'engine.unpaused', lifted, reason });
      return lifted;
    },
  };
}

function policyScope(policy: string): string {
  return `policy/${policy}`;
}

function statusOf(policy: Policy, authority: AuthorityFacts, deps: EngineDeps): PolicyStatus {
  const { settings, schedule } = policy;
  const effectiveMode = modeInEffect(authority);
  const lowest = [
    { mode: deps.settings.mode, by: `engine.mode is ${deps.settings.mode}` },
    { mode: deps.ceiling ?? 'enforce', by: `OPSD_MODE is ${deps.ceiling}` },
  ].find(({ mode }) => mode === effectiveMode && mode !== settings.mode);
  const reducedBy = authority.paused === undefined ? lowest?.by : `paused: ${authority.paused}`;
  return {
    name: policy.name,
    account: policy.account,
    ...(settings.owner !== undefined && { owner: settings.owner }),
    ...(settings.description !== undefined && { description: settings.description }),
    source: policy.source,
    schedule: 'every' in schedule ? `every ${formatDuration(schedule.every)}` : `${schedule.cron} ${schedule.timezone}`,
    mode: settings.mode,
    effectiveMode,
    ...(reducedBy !== undefined && { reducedBy }),
  };
}

function askKillSwitch(deps: EngineDeps): string | undefined {
  try {
    return deps.killSwitch();
  } catch (error) {
    return `the kill switch cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
