/** Policies: the engine with its facts, and everything that starts a run. */
import { dirname, join } from 'node:path';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { createActions } from '#automate/actions/index.ts';
import { policyLabel } from '#foundation/domain/manual-plan.ts';
import { POLICY_MODES, type PolicyMode, type Trigger } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { EngineFacts } from '#automate/engine/facts/engine-deps.ts';
import { createEngine, type Engine } from '#automate/engine/engine.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { StatusReads } from '#automate/ledger/ledger.ts';
import { fileSwitch } from '#foundation/platform/file-switch.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { failureCallbacks } from './bodies.ts';
import type { GenerationBase } from './generation-base.ts';
import type { LateRun } from './options.ts';
import type { ReloadState } from './reloader.ts';

const POLICY_TIMEOUT_MS = 600_000;
const SETTLE_EVERY_MS = 15_000;

export interface Policies {
  readonly engine: Engine;
  readonly compiled: readonly Policy[];
  /** @param ledger view of the ledger; default: one of its own */
  readonly statuses: (ledger?: StatusReads) => Promise<PolicyStatus[]>;
  /** Runs a policy now, in its turn. A policy that does not exist is ignored. */
  runSoon(policy: string, trigger: Trigger): void;
  /** Considers changes of pauses and plans by other processes now. Every request considers them in any case. */
  settleSoon(): void;
  /** Returns the runs that were requested after the stop. */
  late(): readonly LateRun[];
  /** Recovers from a crash, and schedules the policies. */
  start(): void;
  /** Stops: no new run starts, the request in flight ends, the rest is left. Waits for the end. May be called again. */
  stop(): Promise<void>;
}

export function createPolicies(base: GenerationBase, facts: EngineFacts): Policies {
  const { config, scheduler } = base;
  const { logger } = base.options;
  const compiled = config.policies.map(({ settings, source }) => compilePolicy(settings, source));
  const stopping = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const late: LateRun[] = [];

  const engine = engineOf(base, { facts, compiled, runSoon });

  function track(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => logger.error({ error: errorMessage(error) }, 'policy run failed'))
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  /** Tracks scheduled work, so that a stop of the policies also waits for it, whatever its outcome. */
  function trackScheduled(work: Promise<void>): Promise<void> {
    const tracked = work.catch(() => undefined).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return work;
  }

  function run(name: string, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const attributes = { 'opsd.policy': name, 'opsd.trigger': trigger.kind };
    return base.within({ name: `policy ${policyLabel(name)}`, attributes }, async () => {
      await engine.run(name, signal, trigger);
    });
  }

  function runSoon(name: string, trigger: Trigger): void {
    if (base.options.direct !== undefined) return;
    if (stopping.signal.aborted) late.push({ policy: name, trigger });
    else if (engine.has(name)) track(run(name, trigger, stopping.signal));
  }

  return {
    engine,
    compiled,
    runSoon,
    statuses: async (ledger) =>
      (await engine.statuses(ledger)).map((status) => {
        const nextRunAt = scheduler.nextRunAt(taskOf(status.name));
        return { ...status, nextRunAt };
      }),
    start() {
      for (const { name, when, mode } of compiled) {
        if (mode === 'off' || !('every' in when || 'cron' in when)) continue;
        scheduler.add({
          name: taskOf(name),
          schedule: when,
          timeoutMs: POLICY_TIMEOUT_MS,
          jitter: 1,
          // A stop takes effect at once: the request in flight ends, the rest is left.
          run: (signal) => trackScheduled(run(name, { kind: 'schedule' }, AbortSignal.any([signal, stopping.signal]))),
        });
      }
      scheduler.add({
        name: 'engine/settle',
        schedule: { every: SETTLE_EVERY_MS },
        timeoutMs: POLICY_TIMEOUT_MS,
        run: (signal) => trackScheduled(engine.settle(AbortSignal.any([signal, stopping.signal]))),
        onError: (error) => logger.error({ error: errorMessage(error) }, 'settling failed'),
      });
      // Last: everything that cannot be scheduled fails before anything acts. Intents left by a crash keep their claims
      // until they are resolved, so runs need not wait for this read.
      track(
        engine.recover(stopping.signal).catch((error: unknown) => {
          if (!stopping.signal.aborted) logger.warn({ error: errorMessage(error) }, 'recovery postponed');
        }),
      );
      for (const { policy, trigger } of base.handed?.late ?? []) runSoon(policy, trigger);
    },
    settleSoon() {
      if (!stopping.signal.aborted) track(engine.settle(stopping.signal));
    },
    late: () => late,
    async stop() {
      stopping.abort(new Error('the daemon stops'));
      await Promise.allSettled(underWay);
    },
  };
}

interface PolicyParts {
  readonly facts: EngineFacts;
  readonly compiled: readonly Policy[];
  readonly runSoon: Policies['runSoon'];
}

function engineOf(base: GenerationBase, { facts, compiled, runSoon }: PolicyParts): Engine {
  const { config, whole, accounts, bodies, storage, board, clock, events, handed } = base;
  const { replica, ledger } = storage;
  const { env, reload, settleMs, pace } = base.options;
  const { killSwitchFile } = config.engine;
  const path = config.storage.sqlite?.path ?? ':memory:';
  return createEngine({
    policies: compiled,
    settings: config.engine,
    accounts: new Map(
      accounts.connections.map(({ account: { name, mode, limits }, target: { accountId, dlqRetentionMs } }) => {
        const { priceUsdPer100kMessages } = limits;
        return [name, { mode, accountId, dlqRetentionMs, priceUsdPer100kMessages }];
      }),
    ),
    bodies,
    actions: createActions(accounts.clients, {
      clock,
      events,
      bodies: (account, dlqId) => bodies.read(account, dlqId, ledger),
      failureCallbacks: failureCallbacks(config, events),
      accountIds: new Map(
        accounts.connections.flatMap(({ target: { account, accountId } }) =>
          accountId === undefined ? [] : [[account, accountId] as const],
        ),
      ),
    }),
    ledger,
    board,
    facts,
    clock,
    events,
    guards: GUARDS,
    archiveDir: path === ':memory:' ? undefined : join(dirname(path), 'archive'),
    settleMs,
    ...pace,
    ceiling: modeCeiling(env['OPSD_MODE']),
    auditOnly: reload && (() => auditOnlyBy(reload.state())),
    unwrittenPauses: handed?.pauses,
    shared: replica && {
      name: replica.name,
      // It may become the leader without another generation.
      get isLeader() {
        return replica.isLeader();
      },
      allPolicies: new Set(whole.policies.map(({ settings }) => settings.name)),
      hasLost: (account) => replica.hasLost(account),
    },
    killSwitch: () => killSwitchFile && fileSwitch(killSwitchFile),
    runSoon,
  });
}

function taskOf(policy: string): string {
  return `policy/${policy}`;
}

/** @throws {Error} if OPSD_MODE is invalid: a typo must not mean no limit */
export function modeCeiling(text: string | undefined): PolicyMode | undefined {
  if (text === undefined || text === '') return undefined;
  const mode = POLICY_MODES.find((candidate) => candidate === text);
  if (mode === undefined) throw new Error(`OPSD_MODE is "${text}"; it must be one of ${POLICY_MODES.join(', ')}`);
  return mode;
}

/** Reason why all policies are in audit mode; undefined if they are not. */
function auditOnlyBy({ auditOnly }: ReloadState): string | undefined {
  return auditOnly
    ? 'the changed configuration is invalid; all policies are in audit until a reload succeeds'
    : undefined;
}
