/** An engine with its surroundings: real ledger, real actions, a controllable DLQ, and a stopped clock. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Plan, PolicyMode, Trigger } from '#foundation/domain/plan.ts';
import type { EngineDeps, EngineFacts } from '#automate/engine/facts/engine-deps.ts';
import { createEngine, type Engine } from '#automate/engine/engine.ts';
import type { Guard } from '#automate/guardrails/guard.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { PreconditionFacts } from '#automate/policies/facts.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { engineSettings, policySettings } from '#automate/policies/settings.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { FakeDlq, type ResumeAnswer } from '../../support/fake-dlq.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';

export const START = Date.UTC(2025, 10, 20, 12);
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const SETTLE = 5 * MINUTE;
export const NEVER = new AbortController().signal;

/**
 * Guards of most tests. Tests of campaigns use all guards; others test the handling of an entry, independent of its
 * group.
 */
export const WITHOUT_RAMP = GUARDS.filter(({ name }) => name !== 'ramp');

export const NOTHING_KNOWN: EngineFacts = {
  deliveries: () => undefined,
  refusedAt: () => undefined,
  clockSkewMs: () => 0,
  steadySince: () => -Infinity,
  preconditions: async () => {
    throw new Error('no policy of this test has preconditions');
  },
  budget: async () => ({ spend: { fresh: false }, changes: [] }),
  resumeEnded: () => false,
  dlqMessages: () => undefined,
};

type Budget = Omit<Awaited<ReturnType<EngineFacts['budget']>>, 'changes'>;

export interface World {
  readonly clock: ManualClock;
  readonly dlq: FakeDlq;
  readonly ledger: Ledger;
  readonly board: ObservationBoard;
  readonly bus: EventBus;
  readonly events: OpsEvent[];
  engine: Engine;
  /** Reason that pauses everything. A function is called, and may throw. */
  pause: string | undefined | (() => string | undefined);
  /** Simulates a restart: another daemon over the same ledger. */
  restart(over?: Partial<EngineDeps>): void;
  readonly guards: readonly Guard[];
  /** Runs that the engine requested, in order. */
  readonly soon: string[];
  /** Triggers of these runs. */
  readonly soonFor: Trigger[];
  /** Known facts; none until a test sets them. */
  facts: Partial<Omit<EngineFacts, 'preconditions' | 'budget'>> & {
    preconditions?(account: string): PreconditionFacts;
    budget?(account: string): Budget | Promise<Budget>;
  };
  /** Publishes the content of the DLQ as a complete batch. */
  observe(): void;
  /** Outcomes of the policy's runs, in order. */
  runs(): readonly string[];
  lastRun(): Extract<OpsEvent, { type: 'policy.run' }>;
}

export interface WorldOptions {
  readonly policies?: readonly Policy[];
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly engine?: Readonly<Record<string, unknown>>;
  readonly ledger?: Ledger;
  readonly facts?: World['facts'];
  /** Responses of the first resumes. */
  readonly answers?: readonly ResumeAnswer[];
  /** Entries of the DLQ: their number, or what is different in each of them. */
  readonly entries?: number | readonly Partial<WorkflowDlqEntry>[];
  /** Default: all but the ramp. */
  readonly guards?: readonly Guard[];
  readonly deps?: Partial<EngineDeps>;
}

export function policyOf(over: Readonly<Record<string, unknown>> = {}): Policy {
  return compilePolicy(
    policySettings.parse({
      name: 'resume-billing',
      account: 'production',
      mode: 'enforce' satisfies PolicyMode,
      select: { resource: 'workflow-dlq', anyLabel: ['billing'] },
      action: { type: 'workflow-dlq.resume' },
      ...over,
    }),
    'opsd.yaml:7',
  );
}

export function world(options: WorldOptions = {}): World {
  const clock = new ManualClock(START);
  const dlq = new FakeDlq(clock);
  const ledger = options.ledger ?? memoryLedger();
  const board = new ObservationBoard(clock);
  board.register({
    account: 'production',
    collector: 'workflowDlq',
    schedule: 'every 1m',
    intervalMs: MINUTE,
    maxStalenessMs: HOUR,
  });
  const bus = new EventBus();
  const events: OpsEvent[] = [];
  bus.subscribe((event) => void events.push(event));
  const made: World = {
    clock,
    dlq,
    ledger,
    board,
    bus,
    events,
    engine: undefined as unknown as Engine,
    pause: undefined,
    guards: options.guards ?? WITHOUT_RAMP,
    soon: [],
    soonFor: [],
    facts: options.facts ?? {},
    restart(over = {}) {
      made.engine = createEngine({
        policies: options.policies ?? [policyOf(options.policy)],
        settings: engineSettings.parse(options.engine ?? {}),
        accounts: new Map([['production', { mode: 'enforce' }]]),
        actions: actionsOver(dlq.client(), { clock, events: bus, maxPages: 50 }),
        facts: {
          // A healthy destination, so that it holds nothing in unrelated tests.
          deliveries: (...of) => (made.facts.deliveries ?? (() => ({ delivered: 100, all: 100 })))(...of),
          refusedAt: (account) => made.facts.refusedAt?.(account),
          clockSkewMs: (account) => (made.facts.clockSkewMs ?? (() => 0))(account),
          steadySince: () => (made.facts.steadySince ?? (() => -Infinity))(),
          preconditions: async (account) => made.facts.preconditions!(account),
          budget: async (account) => ({
            changes: await ledger.budgetChanges(account, 0),
            ...((await made.facts.budget?.(account)) ?? { spend: { fresh: false } }),
          }),
          resumeEnded: (...of) => made.facts.resumeEnded?.(...of) ?? false,
          dlqMessages: (account) => made.facts.dlqMessages?.(account),
        },
        guards: made.guards,
        listEveryMs: 0,
        runSoon(policy, trigger) {
          made.soon.push(policy);
          made.soonFor.push(trigger);
        },
        ledger,
        board,
        clock,
        events: bus,
        killSwitch: () => (typeof made.pause === 'function' ? made.pause() : made.pause),
        settleMs: SETTLE,
        ...options.deps,
        ...over,
      });
    },
    observe() {
      const rows = [...dlq.entries.values()];
      board.publish({ account: 'production', collector: 'workflowDlq', at: clock.now(), rows, dropped: 0 }, 10);
    },
    runs: () => events.filter((event) => event.type === 'policy.run').map((event) => event.outcome),
    lastRun: () => events.findLast((event) => event.type === 'policy.run')!,
  };
  const { entries = 0, answers = [] } = options;
  dlq.answers = [...answers];
  for (const entry of typeof entries === 'number' ? Array.from({ length: entries }, () => ({})) : entries)
    dlq.add(entry);
  made.restart();
  return made;
}

export async function run(world: World, signal = NEVER, policy = 'resume-billing'): Promise<void> {
  await world.engine.run(policy, signal);
}

/** Creates a world and runs its policy once. */
export async function ran(options: WorldOptions = {}): Promise<World> {
  const made = world(options);
  await run(made);
  return made;
}

export async function settleAfter({ clock, engine }: World, ms: number): Promise<void> {
  await clock.advance(ms);
  await engine.settle(NEVER);
}

export async function pendingPlans({ ledger, clock }: World): Promise<readonly StoredPlan[]> {
  return ledger.storedPlans(['pending'], clock.now());
}

export async function storedPlan({ ledger, clock }: World, id: string): Promise<StoredPlan | undefined> {
  return ledger.storedPlan(id, clock.now());
}

/** Returns the ids that were sent, in order. */
export function sentIds(world: World): readonly string[] {
  return world.dlq.sent.flatMap((sent) => sent.dlqIds);
}

/** Default caller, for tests that do not depend on it. */
export const ASKED = { by: 'test', keep: false } as const;

/** Returns the plan that `opsd plan` would show. */
export async function planOf(world: World, signal = NEVER, policy = 'resume-billing'): Promise<Plan> {
  const planned = await world.engine.plan(policy, ASKED, signal);
  if (!planned.ok) throw new Error(planned.message);
  return planned.plan;
}

/** Event of a request whose code a test adds. */
export const REQUEST = {
  type: 'api.request',
  account: 'production',
  api: 'message',
  operation: 'x',
  method: 'GET',
  url: 'https://eu.example/v2/logs',
  durationMs: 1,
  bytes: 0,
} as const;

/** Returns the ledger with other members, also in its views. */
export function changed(ledger: Ledger, over: Partial<Ledger>): Ledger {
  const own: Ledger = { ...ledger, view: (use) => use(own), ...over };
  return own;
}

/** Returns the ledger with a method that rejects, as on a full disk. */
export function failing(ledger: Ledger, method: 'pause' | 'reserve' | 'beginRun' | 'recordOutcome'): Ledger {
  return changed(ledger, { [method]: async () => Promise.reject(new Error('disk full')) });
}

/** Outcomes of all actions, oldest first. */
export async function outcomes({ ledger }: World): Promise<(string | undefined)[]> {
  return (await ledger.recentActions(100)).map(({ outcome }) => outcome).toReversed();
}

/** Stores a dead letter of a message that failed with 404. */
export async function deadLetter(
  { ledger, clock }: World,
  dlqId: string,
  over: Partial<DeadLetter> = {},
): Promise<void> {
  const common = { account: 'production', messageId: `msg-${dlqId}`, learnedAt: clock.now(), status: 404, labels: [] };
  await ledger.noteDeadLetter({ ...common, dlqId, ...over });
}
