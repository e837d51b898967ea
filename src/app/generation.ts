/**
 * A generation of the daemon: everything that depends on the configuration, from the connections to the policies.
 * Reading `createGeneration` from top to bottom is reading what the daemon does.
 */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { Scheduler } from '#foundation/scheduler/scheduler.ts';
import { createFacts } from '#automate/engine/facts.ts';
import { applyOwnDepartures, departureBy } from '#observe/collectors/own-departures.ts';
import type { Metrics } from '#observe/metrics/metrics.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { announceChecks } from '#observe/observations/statistics-checks.ts';
import { connectAccounts, type Accounts } from './accounts.ts';
import { createPolicies, type Policies } from './automation.ts';
import type { Doors } from './doors.ts';
import { scheduleBackups, scheduleHeartbeat, scheduleLabels, scheduleUpkeep } from './maintenance.ts';
import { startMetrics } from './metrics.ts';
import { budgetKnowledge, watchAccounts } from './observation.ts';
import type { DaemonOptions, Handover } from './options.ts';
import { startDeliveryLines, startNotifications, startTracing } from './outgoing.ts';
import { Parts } from './parts.ts';
import { tellOfReload } from './reload.ts';
import type { Storage } from './storage.ts';

/** A stop lets a read that is nearly done end; one that hangs is broken off, which loses nothing. */
const READ_GRACE_MS = 1_000;

interface GenerationDeps {
  readonly config: Config;
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly storage: Storage;
  readonly doors: Doors;
}

export interface Generation extends AsyncDisposable {
  readonly config: Config;
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly accounts: Accounts;
  readonly policies: Policies;
  readonly metrics: Metrics;
  readonly clock: VerifiedClock;
  /** Whether the scheduler turns. */
  readonly health: ReturnType<typeof scheduleHeartbeat>;
  /** Starts everything that is on the schedule. */
  start(): void;
  /** Ends what acts: nothing new begins, what runs may finish. The rest still answers, and ends when it is disposed. */
  stop(): Promise<void>;
  /** @param by who asked for the loading that failed just now */
  noteReload(by?: string): void;
  handOver(): Handover;
}

export async function createGeneration(deps: GenerationDeps): Promise<Generation> {
  const { config, options, events, storage, doors } = deps;
  const { clock, random, logger } = options;
  const { ledger, folds } = storage;
  await using parts = new Parts(options);

  const board = new ObservationBoard(clock);
  parts.use(announceChecks(board, events));
  parts.use(
    applyOwnDepartures({
      events,
      clock,
      store: folds.workflowDlq,
      actedOn: (account, dlqId) => departureBy(ledger.actionOn(account, dlqId)),
      depart: (account, dlqIds) => board.depart(account, dlqIds),
    }),
  );
  const accounts = await connectAccounts(config, { clock, random, logger, events, ...storage }, parts);
  const configured = accounts.connections.map(({ account }) => account);

  const { spans, within } = await startTracing(deps, parts);
  const scheduler = new Scheduler({ clock, events, random, graceMs: READ_GRACE_MS });
  const attempts = new RecentAttempts(clock);
  const resumeEnds = new ResumeEnds();
  const verified = parts.use(new VerifiedClock(clock, events));
  const facts = parts.use(
    createFacts({ board, attempts, resumeEnds, ledger, events, clock: verified, accounts: configured }),
  );
  const policies = createPolicies({
    config,
    options,
    accounts,
    ledger,
    board,
    facts,
    scheduler,
    clock: verified,
    events,
    within,
  });

  const budget = budgetKnowledge(config, ledger);
  const metrics = parts.use(
    startMetrics({ config, options, events, storage, board, accounts, spans, policies, budget, doors }),
  );
  const { engine } = policies;
  startNotifications(deps, engine, parts);
  const noteReload = (by?: string): void => {
    if (options.reload !== undefined) tellOfReload(options.reload.state(), { engine, events }, by);
  };
  noteReload();
  startDeliveryLines(deps, parts);

  watchAccounts({
    config,
    accounts,
    scheduler,
    board,
    attempts,
    resumeEnds,
    ledger,
    folds,
    metrics,
    spans,
    events,
    clock,
    verified,
    within,
  });
  policies.start();
  const upkeep = { scheduler, conditions: engine.others, events, logger };
  parts.defer(scheduleLabels({ scheduler, metrics, events }));
  scheduleUpkeep({ ...upkeep, store: storage.store, ledger, audit: storage.audit, clock: verified });
  if (storage.backups !== undefined) scheduleBackups({ ...upkeep, ...storage.backups, clock });
  const health = scheduleHeartbeat(scheduler, clock);

  const owned = parts.move();
  const acting = new Parts(options);
  acting.ending('runs in progress', 15_000, () => scheduler.stop());
  acting.ending('policies', 15_000, () => policies.stop());
  return {
    config,
    board,
    attempts,
    accounts,
    policies,
    metrics,
    clock: verified,
    health,
    noteReload,
    start: () => scheduler.start(),
    stop: () => acting.disposeAsync(),
    handOver: () => ({ counts: metrics.handOver(), pauses: engine.unwrittenPauses() }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
