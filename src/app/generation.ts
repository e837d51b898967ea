/**
 * Generation of the daemon: everything that depends on the configuration, from the connections to the policies.
 * `createGeneration`, read from top to bottom, shows what the daemon does.
 */
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { Scheduler } from '#foundation/scheduler/scheduler.ts';
import type { Engine } from '#automate/engine/engine.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { createFacts } from '#automate/engine/facts/facts.ts';
import { applyOwnDepartures, departuresBy } from '#observe/collectors/own-departures.ts';
import type { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import type { Metrics } from '#observe/metrics/metrics.ts';
import { loadMetrics } from '#observe/metrics/stored-metrics.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import type { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import type { KnownAttempts } from '#foundation/domain/ended-attempts.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { announceChecks } from '#observe/observations/statistics-checks.ts';
import type { Holds } from '#service/holds.ts';
import { connectAccounts } from './accounts.ts';
import { keptBodies, scheduleBodies } from './bodies.ts';
import { createPolicies, type Policies } from './automation.ts';
import type { CanaryPost, GenerationCanaries } from './canaries.ts';
import { certificatesOf } from './listener-security.ts';
import { scheduleHistory } from './history.ts';
import { watchIncidents, type MarkStart } from './incidents.ts';
import {
  endInterruptedOperations,
  scheduleBackups,
  scheduleHeartbeat,
  scheduleLabels,
  scheduleReadings,
  scheduleUpkeep,
} from './maintenance.ts';
import { startMetrics } from './metrics.ts';
import { watchAccounts } from './observation.ts';
import type { GenerationBase } from './generation-base.ts';
import type { Handover } from './options.ts';
import type { UnsavedNotifications } from '#operate/notifications/unsaved-notifications.ts';
import { startDeliveryLines, startNotifications, startTracing } from './outgoing.ts';
import { Parts } from '#foundation/platform/parts.ts';
import { tellOfReload } from './reload.ts';
import type { Storage } from './storage.ts';
import type { Stores } from './stores.ts';

/** Grace period of a stop for reads that are nearly done. A hanging read is aborted, which loses nothing. */
const READ_GRACE_MS = 1_000;

interface GenerationGiven extends Pick<GenerationBase, 'config' | 'whole' | 'options' | 'events' | 'security'> {
  readonly storage: Storage;
  /** Outlives the generation. */
  readonly flowControlHistory: FlowControlHistory;
  /** Outlives the generation. */
  readonly holds: Holds;
  /** Outlives the generation. */
  readonly unsaved: UnsavedNotifications;
  /** Outlives the generation. */
  readonly markStart: MarkStart;
  /** Opens the canaries of the process, at the first call. */
  canaryPost(accounts: readonly string[]): Promise<CanaryPost>;
  /** Base URL of the daemon's pages; undefined before they are served. */
  readonly address: () => string | undefined;
  /** Shows the accounts of a generation to other replicas; absent if the store is not shared. */
  readonly views: { publish(memory: SharedMemory, parts: Parts): void } | undefined;
  /** Ends the previous generation, and returns the state that this one needs; undefined if it is the first. */
  handed(): Handover | undefined;
}

interface GenerationDeps extends GenerationGiven {
  readonly storage: Storage & Stores;
}

export interface Generation extends Pick<
  GenerationBase,
  'config' | 'whole' | 'board' | 'attempts' | 'accounts' | 'bodies' | 'clock'
> {
  readonly flowControlHistory: FlowControlHistory;
  readonly policies: Policies;
  /** Policies of all accounts of the configuration, also of those that other replicas work on. */
  readonly allPolicies: readonly Policy[];
  readonly incidents: IncidentWatch;
  readonly metrics: Metrics;
  readonly stores: Stores;
  /** Absent if no canary is configured. */
  readonly canaries: GenerationCanaries | undefined;
  /** Health of the scheduler. */
  readonly health: ReturnType<typeof scheduleHeartbeat>;
  /** Starts all scheduled work. */
  start(): void;
  /** Stops acting: no new run starts, running ones may finish. The rest still answers. */
  stop(): Promise<void>;
  /** Ends connections and outgoing data. Read data and counts remain. */
  release(): Promise<void>;
  /** Resolves when no part of this generation acts any more, however long that takes. */
  idle(): Promise<unknown>;
  /** @param by requester of the reload that has just failed */
  noteReload(by?: string): void;
  /** Ends the event listeners. */
  close(): void;
  /** Closes the generation, and returns the state that the next one needs. */
  handOver(): Handover;
}

/** Memory of a generation that other replicas show. */
export type SharedMemory = Pick<
  Generation,
  'config' | 'board' | 'attempts' | 'incidents' | 'policies' | 'accounts' | 'metrics' | 'canaries'
>;

export async function createGeneration(given: GenerationGiven): Promise<Generation> {
  const { config, whole, options, events, flowControlHistory, holds } = given;
  const { clock, random, direct } = options;
  await using parts = new Parts(options);
  using hearing = new DisposableStack();

  const owned = config.accounts.map(({ name }) => name);
  const stores = await given.storage.stores();
  const ledger = given.storage.replica === undefined ? given.storage.ledger : given.storage.ledger.within(owned);
  // An exchange has waited for the operations of this process: these are of earlier owners.
  if (given.storage.replica !== undefined) await endInterruptedOperations(ledger, options);
  const storage = { ...given.storage, ...stores, ledger };
  const deps = { ...given, storage };

  // With PostgreSQL, the stores end with their generation.
  parts.ending('commits of counters', 5_000, () => stores.totals.settled());
  const accounts = await connectAccounts(config, { ...options, events, holds, ...storage }, parts);
  const tracing = await startTracing(deps, parts);
  const post = hasCanaries(deps) ? await deps.canaryPost(owned) : undefined;
  const stored = await load(deps);
  hearing.use(stored.metrics);
  // Nothing is awaited from here on: no event occurs between the last count of one generation and the first of the
  // next.
  const handed = deps.handed();

  const board = new ObservationBoard(clock);
  hearing.use(announceChecks(board, events));
  hearing.use(flowControlHistory.follow(board));
  hearing.use(hearDepartures(deps, board));
  const scheduler = new Scheduler({ clock, events, random, graceMs: READ_GRACE_MS });
  const attempts = new RecentAttempts(clock);
  for (const [account, known] of stored.attempts) attempts.restore(account, known);
  const canaries = post?.start({ config, accounts, scheduler }, parts);
  const states = canaries && { canaries: () => canaries.states() };
  const resumeEnds = new ResumeEnds();
  const verified = hearing.use(new VerifiedClock(clock, events));
  const observed = { accounts, board, attempts, resumeEnds, scheduler, clock: verified };
  const bodies = keptBodies(whole, events, verified);
  const base: GenerationBase = { ...deps, ...tracing, ...observed, bodies, handed };
  const facts = hearing.use(createFacts({ ...observed, ledger, ...states, events, accounts: config.accounts }));
  const policies = createPolicies(base, facts);
  const own = new Map(policies.compiled.map((policy) => [policy.name, policy]));
  const allPolicies = whole.policies.map(
    ({ settings, source }) => own.get(settings.name) ?? compilePolicy(settings, source),
  );

  const incidents = watchIncidents({ ...base, policies, address: given.address }, parts);
  const metered = { stored: stored.metrics, policies, incidents, ...states };
  const metrics = hearing.use(startMetrics(base, metered));
  const { engine } = policies;
  startNotifications({ ...deps, stored: stored.notifications }, engine, parts);
  const noteReload = (by?: string) => options.reload && tellOfReload(options.reload.state(), { engine, events }, by);
  noteReload();
  startDeliveryLines(deps, parts);

  watchAccounts({ ...base, metrics });
  if (direct === undefined) {
    scheduleMaintenance({ ...base, metrics, engine }, parts);
    scheduleBodies(base);
    scheduleHistory({ ...base, accounts: owned, incidents, store: stores.aggregations.history });
  }
  deps.views?.publish({ config, board, attempts, incidents, policies, accounts, metrics, canaries }, parts);
  const health = scheduleHeartbeat(scheduler, clock);
  // Last: a generation that cannot be created must not have acted.
  if (direct === undefined) policies.start();

  const [held, heard] = [parts.move(), hearing.move()];
  const running = new Parts(options);
  // Together: the scheduler starts no run of a policy that stops.
  const idle = () => Promise.all([scheduler.stop(), policies.stop()]);
  running.ending('runs in progress', 15_000, idle);
  return {
    ...base,
    flowControlHistory,
    policies,
    allPolicies,
    incidents,
    metrics,
    stores,
    canaries,
    health,
    noteReload,
    start: () => scheduler.start(),
    stop: () => running.disposeAsync(),
    release: () => held.disposeAsync(),
    idle,
    close: () => heard.dispose(),
    handOver() {
      const counts = metrics.handOver();
      heard.dispose();
      return { counts, pauses: engine.unwrittenPauses(), late: policies.late() };
    },
  };
}

/** Returns true if any replica has canaries: their messages may arrive here. */
function hasCanaries({ whole, options }: GenerationDeps): boolean {
  return options.direct === undefined && whole.accounts.some(({ canaries }) => canaries.length > 0);
}

/** Loads what the parts of a generation read from the store. */
async function load(deps: GenerationDeps) {
  const { config, storage, unsaved } = deps;
  await deps.markStart(config, storage.incidents);
  const attempts = new Map<string, KnownAttempts>();
  for (const { name } of config.accounts) {
    const known = await storage.aggregations.log.attempts(name);
    if (known !== undefined) attempts.set(name, known);
  }
  return {
    attempts,
    notifications: await unsaved.load(storage.notifications),
    metrics: await loadMetrics(storage, config.accounts),
  };
}

interface Maintained extends GenerationBase {
  readonly engine: Engine;
  readonly metrics: Metrics;
}

function scheduleMaintenance(maintained: Maintained, parts: Parts) {
  const { scheduler, engine, metrics, storage, options, security } = maintained;
  const { ledger, backups } = storage;
  const upkeep = { ...maintained, conditions: engine.others, logger: options.logger };
  parts.defer(scheduleLabels(maintained));
  scheduleReadings(scheduler, metrics);
  scheduleUpkeep({ ...upkeep, store: storage, ledger, certificates: () => certificatesOf(security) });
  if (backups !== undefined) scheduleBackups({ ...upkeep, ...backups, clock: options.clock });
}

function hearDepartures({ options, events, storage }: GenerationDeps, board: ObservationBoard): Disposable {
  return applyOwnDepartures({
    events,
    clock: options.clock,
    store: storage.aggregations.workflowDlq,
    actedOn: async (account, dlqIds) => departuresBy(await storage.ledger.claims(account, dlqIds)),
    depart: (account, dlqIds) => board.depart(account, dlqIds),
  });
}
