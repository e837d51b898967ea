/**
 * The composition root: makes every part of the daemon in order, each teardown on the line after what it ends.
 * Reading `startApp` from top to bottom is reading the daemon.
 */
import type { ServiceClient } from '#service/api.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { configuredLabels, connection, startEmbedded } from './accounts.ts';
import { certificatesOf, openDoors, takeDoors } from './doors.ts';
import { apiTokens, startHookListener } from './hooks.ts';
import { createPolicies } from './automation.ts';
import { auditOnlyBy, rehearse, tellOfReload } from './reload.ts';
import { scheduleBackups, scheduleUpkeep } from './maintenance.ts';
import { socketPathOf } from '#operate/cli/daemon-client.ts';
import type { Daemon, DaemonOptions } from '#operate/cli/daemon.ts';
import { AnswerMemory } from '#service/answer-memory.ts';
import { createClient } from '#service/create-client.ts';
import { applyOwnDepartures, departureBy } from '#observe/collectors/own-departures.ts';
import { collectors, timing, type Collector, type CollectorTarget } from '#observe/collectors/index.ts';
import type { Config } from '#config/config.ts';
import { knownBudget, type BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import { COLLECTOR_NAMES, type CollectorName } from '#foundation/domain/observation.ts';
import { ownCommand } from '#foundation/domain/own-command.ts';
import { createFacts } from '#automate/engine/facts.ts';
import type { Undertaking } from '#observe/tracing/daemon-spans.ts';
import { deliveryLines } from '#observe/tracing/delivery-line.ts';
import { createDeliveryLog } from '#observe/tracing/delivery-log.ts';
import { deliverySpanOf } from '#observe/tracing/delivery-exemplar.ts';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { createMetrics } from '#observe/metrics/metrics.ts';
import { ATTR_MSGSVC_ACCOUNT } from '#observe/tracing/semconv.ts';
import type { FoldStores } from '#observe/aggregation/stores.ts';
import { createSpanExport } from '#observe/tracing/spans.ts';
import { createNotifier } from '#operate/notifications/notifier.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { announceChecks } from '#observe/observations/statistics-checks.ts';
import { collectorTask } from '#observe/observations/run-collector.ts';
import { countedAudit } from '#automate/ledger/counted-audit.ts';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus } from '#foundation/events/events.ts';
import { teardown } from '#foundation/platform/teardown.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { Scheduler } from '#foundation/scheduler/scheduler.ts';
import { startProbes } from '#operate/http/probes.ts';
import type { MetricsFormat } from '#operate/http/metrics-format.ts';
import { startServer } from '#operate/server.ts';
import { createLabelStore } from '#storage/sqlite-label-store.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { createBackupFolder, readStoreFiles } from '#storage/backup-folder.ts';
import { createCopies } from '#storage/backup.ts';
import { createLedger } from '#storage/sqlite-ledger.ts';
import { createLogFoldStore } from '#storage/sqlite-log-fold-store.ts';
import { createSeriesStore } from '#storage/sqlite-series-store.ts';
import { createFlowControlStore } from '#storage/sqlite-flow-control-store.ts';
import { createNoticeStore } from '#storage/sqlite-notice-store.ts';
import { createDeliveryOutbox } from '#storage/sqlite-delivery-outbox.ts';
import { createRequestUseStore } from '#storage/sqlite-request-use.ts';
import { createSpanOutbox } from '#storage/sqlite-span-outbox.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { createWorkflowDlqStore } from '#storage/sqlite-workflow-dlq-store.ts';
import { openStore } from '#storage/sqlite.ts';

/** A stop lets a read that is nearly done end; one that hangs is broken off, which loses nothing. */
const READ_GRACE_MS = 1_000;
/** A crash forgets places that label values got since. */
const TIDY_LABELS_EVERY_MS = 10_000;
/** Ready at the latest, whatever the service does: a daemon that waits for an outage to end is no use in it. */
const READY_AFTER_MS = 30_000;
/** The scheduler is taken for stuck when its heartbeat is older. */
const HEARTBEAT_MS = 5_000;
const HEARTBEAT_LATE_MS = 60_000;

/**
 * Starts the daemon: on return its addresses answer and its collectors run.
 *
 * @throws {Error} when the store or an address cannot be had; whatever was started before is ended again
 */
export async function startApp(config: Config, options: DaemonOptions): Promise<Daemon> {
  const { clock, random, env, logger } = options;
  const startedAt = clock.now();
  await using stack = new AsyncDisposableStack();
  const ending = (name: string, ms: number, work: () => Promise<unknown>): void => {
    stack.use(teardown({ clock, logger }, name, ms, work));
  };

  const events = new EventBus();
  stack.use(logEvents(events, logger));

  const doors = openDoors(config, clock);
  const store = stack.use(openStore(config.storage.sqlite.path));
  const copies = createCopies(store);
  ending('copies of the store', 10_000, async () => copies[Symbol.asyncDispose]());
  const { backup } = config.storage;
  const backups = backup && createBackupFolder(backup, { store, copies, clock });
  let savedAt: number | undefined;
  const totals = createTotals(
    store,
    ({ message }) => events.emit({ type: 'store.failed', operation: 'commit of counters', message }),
    () => void (savedAt = clock.now()),
  );
  // Ends after those whose last words it counts.
  stack.use(keepCounts({ events, totals, clock }));
  const outbox = createSpanOutbox(store);
  const deliveries = createDeliveryOutbox(store, {
    onDropped: (count) => events.emit({ type: 'deliveries.dropped', count }),
  });
  const stores: FoldStores = {
    log: createLogFoldStore(store, totals, { ...outbox, deliveries }),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
  };
  const requestUse = createRequestUseStore(store);
  const audit = stack.use(openAuditLog(store, clock, config.storage.audit.maxFileBytes));
  const counted = countedAudit(audit);
  const ledger = createLedger(store, counted.audit);
  const board = new ObservationBoard(clock);
  stack.use(announceChecks(board, events));
  stack.use(
    applyOwnDepartures({
      events,
      clock,
      store: stores.workflowDlq,
      actedOn: (account, dlqId) => departureBy(ledger.actionOn(account, dlqId)),
      depart: (account, dlqIds) => board.depart(account, dlqIds),
    }),
  );

  const embedded = await startEmbedded(config, options);
  if (embedded !== undefined) ending('embedded service', 2_000, () => embedded.stop());

  const clients = new Map<string, ServiceClient>();
  const answers = new AnswerMemory();
  const accounts = config.accounts.map((account) => connection(account, embedded, events));
  for (const { account, client: settings } of accounts) {
    const client = createClient(settings, { clock, events, random, requestUse, answers });
    ending(`connections of ${account.name}`, 2_000, async () => client[Symbol.asyncDispose]());
    clients.set(account.name, client);
  }

  const spans = await createSpanExport({
    settings: config.telemetry.traces,
    env,
    events,
    clock,
    version: options.version,
    outbox,
    failedRun: (account, workflowRunId) => ledger.resumedFrom(account, workflowRunId),
  });
  if (spans !== undefined) options.onSpans(() => spans.own.current());
  if (spans !== undefined) ending('span export', 5_000, async () => spans[Symbol.asyncDispose]());

  const scheduler = new Scheduler({ clock, events, random, graceMs: READ_GRACE_MS });
  const attempts = new RecentAttempts(clock);
  const resumeEnds = new ResumeEnds();
  const verified = new VerifiedClock(clock, events);
  stack.use(verified);
  const facts = createFacts({
    board,
    attempts,
    resumeEnds,
    ledger,
    events,
    clock: verified,
    accounts: accounts.map(({ account }) => account),
  });
  stack.use(facts);
  const policies = createPolicies({
    config,
    env,
    accounts,
    clients,
    ledger,
    board,
    facts,
    scheduler,
    clock: verified,
    events,
    logger,
    within,
    ...(options.settleMs !== undefined && { settleMs: options.settleMs }),
    ...(options.reload !== undefined && { auditOnly: () => auditOnlyBy(options.reload!.state()) }),
    ...(options.handed !== undefined && { unwrittenPauses: options.handed.pauses }),
    ...(options.pace !== undefined && { pace: options.pace }),
  });

  const metrics = createMetrics({
    board,
    events,
    clock,
    settings: config.telemetry.metrics,
    accounts: accounts.map(({ account, apis }) => ({
      name: account.name,
      apis,
      requestsPerDay: account.client.requestsPerDay,
      ...(account.limits.dlqRetention !== undefined && { dlqRetentionMs: account.limits.dlqRetention }),
      limits: account.limits,
    })),
    totals,
    labels: createLabelStore(store, totals),
    configured: configuredLabels(config),
    ...(spans !== undefined && {
      spanOf: (account: string, messageId: string) => deliverySpanOf(config.telemetry.traces, account, messageId),
      currentSpan: () => spans.own.current(),
    }),
    usage: (account, api) => clients.get(account)!.usage(api),
    policies: () => policies.statuses(),
    engine: () => policies.engine.readings(),
    budget: knowledgeOf,
    audit: () => counted.counts(),
    savedAt: () => savedAt,
    store: () => ({
      ...readStoreFiles(store.path),
      ...(backups !== undefined && { backup: { intervalMs: backup!.every, newest: backups.newest } }),
    }),
    logLines: () => options.logLines,
    stateRestored: store.restored,
    configHash: config.hash,
    certificates: () => certificatesOf(doors),
    ...(options.reload !== undefined && { reload: () => options.reload!.state() }),
    ...(options.handed !== undefined && { handed: options.handed.counts }),
    build: { version: options.version, revision: env['OPSD_REVISION'] ?? 'unknown' },
  });
  stack.use(metrics);
  const notifier = createNotifier({ settings: config.notifications, store: createNoticeStore(store), clock, events });
  ending('notifications', 2_000, async () => notifier[Symbol.asyncDispose]());
  policies.engine.takeUp(notifier.standing().map(({ at, isResolved: _standing, ...told }) => ({ ...told, since: at })));
  const noteReload = (by?: string): void => {
    if (options.reload !== undefined) tellOfReload(options.reload.state(), { engine: policies.engine, events }, by);
  };
  noteReload();
  const { deliveryEvents } = config.telemetry;
  if (deliveryEvents !== undefined) {
    const lines = createDeliveryLog({ outbox: deliveries, settings: deliveryEvents, clock, events });
    ending('lines about deliveries', 2_000, async () => lines[Symbol.asyncDispose]());
  }
  const tidyLabels = (): void => {
    try {
      metrics.tidyLabels();
    } catch (error) {
      events.emit({ type: 'store.failed', operation: 'save of label values', message: errorMessage(error) });
    }
  };
  stack.defer(tidyLabels);

  for (const { account, target } of accounts) {
    for (const name of COLLECTOR_NAMES) watch(collectors[name], target, clients.get(account.name)!);
  }

  policies.start();
  scheduler.add({
    name: 'labels',
    schedule: { every: TIDY_LABELS_EVERY_MS },
    timeoutMs: TIDY_LABELS_EVERY_MS,
    jitter: 0,
    run: async () => tidyLabels(),
  });
  const conditions = policies.engine.others;
  scheduleUpkeep({ scheduler, store, conditions, ledger, audit, clock: verified, events, logger });
  if (backups !== undefined) {
    scheduleBackups({ scheduler, folder: backups, every: backup!.every, conditions, clock, events, logger });
  }
  let beatAt = clock.monotonic();
  scheduler.add({
    name: 'heartbeat',
    schedule: { every: HEARTBEAT_MS },
    timeoutMs: HEARTBEAT_MS,
    jitter: 0,
    run: async () => void (beatAt = clock.monotonic()),
  });

  const socketPath = socketPathOf(config.storage.sqlite.path);
  const serverDeps = {
    command: ownCommand(env, ['--socket', socketPath]),
    clock,
    board,
    ledger,
    logger,
    metrics: (format: MetricsFormat) => metrics.render(format),
    health: () => {
      const lateMs = clock.monotonic() - beatAt;
      return lateMs < HEARTBEAT_LATE_MS
        ? { healthy: true, detail: 'the scheduler turns' }
        : { healthy: false, detail: `the scheduler has been silent for ${Math.round(lateMs / 1_000)} s` };
    },
    readiness: () => readiness(board, clock.now() - startedAt),
    policies: () => policies.statuses(),
    engine: policies.engine,
    hosts: config.server.hosts,
    tokens: apiTokens(config, events),
    ...(doors.server !== undefined && { door: doors.server }),
    roles: new Map(Object.entries(config.server.users)),
    anonymous: config.server.anonymous,
    ...(options.reload !== undefined && { reload: (by: string) => options.reload!.request(by) }),
    configHash: config.hash,
    state: {
      auditHead: () => audit.head(),
      backup: (file: string) => copies.write(file),
      adopt: (reason: string, by: string) => {
        const because = ledger.mustBeAdopted;
        ledger.adopt({ at: clock.now(), by, reason });
        return because;
      },
    },
    apiUsage: (account: string) =>
      accounts
        .find((candidate) => candidate.account.name === account)!
        .apis.map((api) => ({ api, ...clients.get(account)!.usage(api) })),
    accounts: accounts.map(({ account, client }) => ({
      name: account.name,
      ...(client.messageApi !== undefined && { messageApiUrl: client.messageApi.url }),
      ...(client.managementApi !== undefined && { managementApiUrl: client.managementApi.url }),
      ...(account.limits.dlqRetention !== undefined && { dlqRetentionMs: account.limits.dlqRetention }),
    })),
    outages: (account: string) => attempts.outages(account),
    labels: () => metrics.labelUse(),
    links: [],
    version: options.version,
    startedAt,
  };
  const socket = await startServer(serverDeps, { socketPath });
  ending('command socket', 3_000, () => socket.close());
  const server = await startServer(serverDeps, config.server.listen);
  ending('HTTP server', 3_000, () => server.close());
  const { listen: probesAt } = config.server.probes;
  const probes = probesAt && (await startProbes(serverDeps, probesAt));
  if (probes !== undefined) ending('probes', 3_000, () => probes.close());

  const hooks = await startHookListener(config, {
    clock: verified,
    logger,
    events,
    ledger,
    ...(doors.hooks !== undefined && { door: doors.hooks }),
    policies: () => policies.compiled.filter(({ mode }) => mode !== 'off'),
    run: (policy, trigger) => policies.runSoon(policy, trigger),
  });
  if (hooks !== undefined) ending('hooks', 3_000, () => hooks.close());

  scheduler.start();
  // First to end: nothing new begins, what runs may finish, and only then goes what it runs on.
  ending('runs in progress', 15_000, () => scheduler.stop());
  ending('policies', 15_000, () => policies.stop());

  const owned = stack.move();
  return {
    address: server.address,
    ...(hooks !== undefined && { hooks: hooks.address }),
    ...(probes !== undefined && { probes: probes.address }),
    socketPath,
    rehearse: (next) =>
      rehearse(next, { config, env, store, addresses: [server.address, hooks?.address, probes?.address] }),
    noteReload,
    takeDoors: (next) => takeDoors(doors, next, events),
    tell: (event) => events.emit(event),
    handOver: () => ({ counts: metrics.handOver(), pauses: policies.engine.unwrittenPauses() }),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };

  /** Inside a span of the daemon's own, where there is tracing. */
  function within<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T> {
    return spans === undefined ? work() : spans.own.during(undertaking, work);
  }

  function knowledgeOf(account: string): BudgetKnowledge | undefined {
    const { budget } = config.accounts.find(({ name }) => name === account)!;
    return knownBudget(budget, ledger.raises(account, 0));
  }

  function watch<N extends CollectorName>(
    collector: Collector<N>,
    target: CollectorTarget,
    client: ServiceClient,
  ): void {
    const { account } = target;
    const off = collector.off(target);
    const { schedule, timeoutMs, maxStalenessMs, intervalMs, describe } = timing(collector.name, target.settings);
    board.register({
      account,
      collector: collector.name,
      schedule: describe,
      intervalMs,
      maxStalenessMs,
      ...(off !== undefined && { off }),
    });
    if (off !== undefined) return;
    const task = collectorTask({
      account,
      collector: collector.name,
      board,
      events,
      clock: verified,
      mayNot: () => {
        const { usedToday, allowedPerDay } = client.usage(collector.api);
        return usedToday >= allowedPerDay ? 'quota' : undefined;
      },
      collect: (signal, previous) =>
        within({ name: `poll ${collector.name}`, attributes: { [ATTR_MSGSVC_ACCOUNT]: account } }, async () => {
          const knownUsd = knowledgeOf(account)?.knownUsd;
          return collector.collect(client, {
            target,
            clock,
            signal,
            stores,
            ...(spans !== undefined && { spans: spans.source }),
            ...(config.telemetry.deliveryEvents !== undefined && { lines: deliveryLines }),
            onAttempts: (read) => {
              attempts.take(account, read);
              resumeEnds.take(account, read);
            },
            onWatermark: (watermark) => board.logLag.take(account, watermark),
            onSetBack: (from, to) => events.emit({ type: 'log.set_back', account, from, to }),
            ...(knownUsd !== undefined && { budgetUsd: knownUsd }),
            admit: (label, value, amount) => metrics.admit(account, label, value, amount),
            actedOn: (dlqId) => departureBy(ledger.actionOn(account, dlqId)),
            ...(previous !== undefined && { previous }),
          });
        }),
    });
    scheduler.add({ ...task, schedule, timeoutMs, jitter: 0.3, runAtStart: true });
  }
}

function readiness(board: ObservationBoard, ageMs: number): { ready: boolean; detail: string } {
  const waiting = board.statuses().filter((status) => status.off === undefined && status.runs === 0);
  if (waiting.length === 0) return { ready: true, detail: 'every collector has run' };
  if (ageMs >= READY_AFTER_MS)
    return { ready: true, detail: `${waiting.length} collectors have not ended their first run` };
  return { ready: false, detail: `first runs of ${waiting.length} collectors are awaited` };
}
