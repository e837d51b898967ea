/**
 * An account with incidents, in virtual time. The embedded service really runs workflows and delivers over HTTP while
 * the test moves its clock. The real engine acts through the real client, with real ledger, actions and guards. The
 * collectors of the DLQ and the statistics are real too. This file replaces the daemon's scheduler, at its default
 * intervals.
 */
import { onTestFinished } from 'vitest';
import { createActions } from '#automate/actions/index.ts';
import { accountStats } from '#observe/collectors/statistics.ts';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { createFacts } from '#automate/engine/facts/facts.ts';
import { createEngine, type Engine } from '#automate/engine/engine.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { engineSettings } from '#automate/policies/settings.ts';
import { NOTHING_KNOWN } from '../automate/engine/world.ts';
import { context, target } from '../observe/collectors/fake-context.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { clockOf } from '../support/fast-clock.ts';
import { publish, TEST_TOKEN, trigger, type Service } from '../support/service.ts';
import { testClient, testEmulator } from '../support/test-emulator.ts';

const ACCOUNT = 'acc-1';
export const HOST = 'app.example.com';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

const START = Date.UTC(2026, 10, 18, 8);
const SETTLE_EVERY_MS = 15_000;
const WINDOW_MS = 15 * MINUTE;
/** Speed of the client's waits while the service's time stops. */
const HURRY = 50;
const NEVER = new AbortController().signal;

export interface IncidentOptions {
  readonly policies: readonly Policy[];
  readonly seed?: number;
  /** Monthly budget in dollars. If set, the account's statistics are read. */
  readonly budgetUsd?: number;
  /** Adds history. */
  readonly past?: (emulator: RunningEmulator, now: number) => void;
  /** Events of each virtual minute, before the daemon's reads. */
  readonly minute?: (stage: IncidentStage) => Promise<void>;
}

export interface IncidentStage {
  readonly emulator: RunningEmulator;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly events: OpsEvent[];
  readonly service: Service;
  /** Epoch milliseconds of the service. */
  now(): number;
  /** Minutes since the start. */
  minute(): number;
  run(minutes: number, until?: () => boolean | Promise<boolean>): Promise<void>;
  /** Resumes that were sent, oldest first. */
  resumes(): Promise<readonly ActionRecord[]>;
  /** Sends a message to the host, for its traffic. */
  readonly send: (path: string) => Promise<void>;
  /** Starts a workflow run without retries. */
  readonly start: (path: string, headers?: Record<string, string>) => Promise<void>;
}

export async function incidentStage(options: IncidentOptions): Promise<IncidentStage> {
  const random = seededRandom(options.seed ?? 1);
  const emulator = await testEmulator({ time: 'virtual', startAt: START, random });
  const now = (): number => emulator.control.clock().now;
  // Waits of the client use real time, those of the daemon the service's time.
  const waiting = clockOf(emulator, HURRY);
  const clock: Clock = { ...waiting, monotonic: now };
  const bus = new EventBus();
  const events: OpsEvent[] = [];
  bus.subscribe((event) => {
    if (event.type !== 'api.request' && event.type !== 'api.throttled') events.push(event);
  });
  const limits = { requestsPerDay: 1e9, timeout: '5m' };
  const client = testClient(emulator.url, { account: ACCOUNT, limits, clock: waiting, events: bus, random });
  const actions = createActions(new Map([[ACCOUNT, client]]), {
    clock,
    events: bus,
    accountIds: new Map([[ACCOUNT, ACCOUNT]]),
  });
  const board = new ObservationBoard(clock);
  for (const collector of ['workflowDlq', 'accountStats'] as const) {
    board.register({ account: ACCOUNT, collector, schedule: '', intervalMs: MINUTE, maxStalenessMs: HOUR });
  }
  options.past?.(emulator, START);
  const ended: { readonly at: number; readonly delivered: boolean }[] = [];
  emulator.onFact((_account, fact) => {
    if (fact.kind === 'attempt') ended.push({ at: fact.at, delivered: fact.outcome === 'delivered' });
  });
  const ledger = memoryLedger();
  await ledger.noteAccounts([{ account: ACCOUNT, id: ACCOUNT }], 0);
  const verified = new VerifiedClock(clock, bus);
  onTestFinished(() => verified[Symbol.dispose]());
  const { budgetUsd } = options;
  const known = createFacts({
    board,
    attempts: new RecentAttempts(clock),
    resumeEnds: new ResumeEnds(),
    ledger,
    events: bus,
    clock: verified,
    accounts: [
      {
        name: ACCOUNT,
        limits: {},
        ...(budgetUsd !== undefined && {
          budget: { knownUsd: budgetUsd, assertedOn: START - 24 * HOUR, maxAge: 45 * 24 * HOUR },
        }),
      },
    ],
  });
  onTestFinished(() => known[Symbol.dispose]());
  const watched = target({ account: ACCOUNT, accountId: ACCOUNT, ...(budgetUsd !== undefined && { budgetUsd }) });
  const stats = context<'accountStats'>({ target: watched, clock });
  const dlq = context<'workflowDlq'>({ target: watched, clock });
  let previous: Batch<'workflowDlq'> | undefined;
  const soon = new Set<string>();
  const engine = createEngine({
    policies: options.policies,
    settings: engineSettings.parse({}),
    accounts: new Map([[ACCOUNT, { mode: 'enforce', dlqRetentionMs: 7 * 24 * HOUR }]]),
    actions,
    ledger,
    board,
    clock,
    events: bus,
    guards: GUARDS,
    killSwitch: () => undefined,
    runSoon: (policy) => void soon.add(policy),
    facts: {
      ...NOTHING_KNOWN,
      deliveries() {
        while (ended.length > 0 && ended[0]!.at <= now() - WINDOW_MS) ended.shift();
        return { delivered: ended.filter(({ delivered }) => delivered).length, all: ended.length };
      },
      budget: (account) => known.budget(account),
      dlqMessages: (account) => known.dlqMessages(account),
    },
  });

  async function look(): Promise<void> {
    const listed = await workflowDlq.collect(client, { ...dlq, ...(previous !== undefined && { previous }) });
    previous = { account: ACCOUNT, collector: 'workflowDlq', at: now(), ...listed };
    board.publish(previous, 10);
    if (budgetUsd === undefined) return;
    const read = await accountStats.collect(client, stats);
    board.publish({ account: ACCOUNT, collector: 'accountStats', at: now(), ...read }, 10);
  }

  async function runDue(minute: number): Promise<void> {
    for (const { name, when } of options.policies) {
      if ('every' in when && (minute * MINUTE) % when.every === 0) await engine.run(name, NEVER);
    }
  }

  const service = { url: emulator.url, token: TEST_TOKEN };
  const stage: IncidentStage = {
    emulator,
    engine,
    ledger,
    events,
    service,
    now,
    minute: () => Math.round((now() - START) / MINUTE),
    async run(minutes, until = () => false) {
      for (let i = 0; i < minutes && !(await until()); i++) {
        await options.minute?.(stage);
        await look();
        await runDue(stage.minute());
        for (let quarter = 0; quarter < MINUTE / SETTLE_EVERY_MS; quarter++) {
          await emulator.advance(SETTLE_EVERY_MS);
          await engine.settle(NEVER);
          for (const policy of soon) {
            soon.delete(policy);
            await engine.run(policy, NEVER, { kind: 'campaign' });
          }
        }
      }
    },
    resumes: async () => (await ledger.recentActions(100_000)).toReversed(),
    send: async (path) => void (await publish(service, `https://${HOST}${path}`, { 'Svc-Retries': '0' })),
    start: async (path, headers = {}) =>
      void (await trigger(service, `https://${HOST}${path}`, { 'Svc-Retries': '0', ...headers })),
  };
  return stage;
}
