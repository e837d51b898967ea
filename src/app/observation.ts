/** Observation of accounts by collectors, and readiness. */
import type { Config } from '#config/config.ts';
import { type AccountBudget, newestBudget, type BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import { COLLECTOR_NAMES, type CollectorName } from '#foundation/domain/observation.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Scheduler } from '#foundation/scheduler/scheduler.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import type { CollectorContext } from '#observe/collectors/collector.ts';
import { collectors, timing, type Collector, type CollectorTarget } from '#observe/collectors/index.ts';
import { departuresBy } from '#observe/collectors/own-departures.ts';
import type { Metrics } from '#observe/metrics/metrics.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { collectorTask } from '#observe/observations/run-collector.ts';
import type { Undertaking } from '#observe/tracing/daemon-spans.ts';
import { deliveryLines } from '#observe/tracing/delivery-line.ts';
import { ATTR_MSGSVC_ACCOUNT } from '#observe/tracing/semconv.ts';
import type { SpanExport } from '#observe/tracing/spans.ts';
import type { ServiceClient } from '#service/api.ts';
import type { Accounts } from './accounts.ts';
import type { DirectOptions } from './options.ts';

/** Readiness is reported at the latest after this time: an unready daemon would be no help during an outage. */
const READY_AFTER_MS = 30_000;

interface ObservationDeps {
  readonly config: Config;
  readonly direct: DirectOptions | undefined;
  readonly accounts: Accounts;
  readonly scheduler: Scheduler;
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly resumeEnds: ResumeEnds;
  readonly ledger: Ledger;
  readonly aggregations: AggregationStores;
  readonly metrics: Pick<Metrics, 'admit'>;
  readonly spans: SpanExport | undefined;
  readonly events: EventBus;
  readonly clock: Clock;
  /** Clock confirmed by responses of the service. */
  readonly verified: Clock;
  /** Runs the work inside a span of the daemon's own, if tracing is on. */
  within<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T>;
}

const NOT_NEEDED = 'the command does not need it';

/** Schedules the collectors of every account. */
export function watchAccounts(deps: ObservationDeps): void {
  for (const { account, target } of deps.accounts.connections) {
    for (const name of COLLECTOR_NAMES) watch(collectors[name], target, deps.accounts.clients.get(account.name)!, deps);
  }
}

/** Returns the budget of an account, from the configuration and the raises in the ledger. */
export function budgetKnowledge(
  config: Config,
  ledger: Pick<Raises, 'budgetChanges'>,
): (account: string) => Promise<BudgetKnowledge | undefined> {
  const budgets = new Map(config.accounts.map(({ name, budget }) => [name, budget]));
  return async (account) => newestBudget(budgets.get(account), await ledger.budgetChanges(account, 0));
}

/** Budgets of all accounts of the configuration. */
export function accountBudgets(
  config: Config,
  ledger: Pick<Raises, 'budgetChangesOf'>,
): () => Promise<ReadonlyMap<string, AccountBudget>> {
  const accounts = config.accounts.map(({ name }) => name);
  return async () => {
    const changes = await ledger.budgetChangesOf(accounts);
    return new Map(
      config.accounts.map(({ name, budget }) => {
        const own = changes.get(name) ?? [];
        const known = newestBudget(budget, own);
        return [name, { changes: own, ...(known !== undefined && { known }) }];
      }),
    );
  };
}

function watch<N extends CollectorName>(
  collector: Collector<N>,
  target: CollectorTarget,
  client: ServiceClient,
  deps: ObservationDeps,
): void {
  const { scheduler, board, events, verified } = deps;
  const { account } = target;
  const off = deps.direct?.collectors.includes(collector.name) === false ? NOT_NEEDED : collector.off(target);
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
      deps.within({ name: `poll ${collector.name}`, attributes: { [ATTR_MSGSVC_ACCOUNT]: account } }, async () =>
        collector.collect(client, {
          ...(await collection(target, deps)),
          signal,
          ...(previous !== undefined && { previous }),
        }),
      ),
  });
  scheduler.add({ ...task, schedule, timeoutMs, jitter: 0.3, runAtStart: true });
}

/** Returns the context of every run of a collector for an account. */
async function collection(
  target: CollectorTarget,
  deps: ObservationDeps,
): Promise<Omit<CollectorContext, 'signal' | 'previous'>> {
  const { config, attempts, resumeEnds, board, events, spans, ledger, metrics } = deps;
  const { account } = target;
  const knownUsd = (await budgetKnowledge(config, ledger)(account))?.knownUsd;
  return {
    target,
    clock: deps.clock,
    stores: deps.aggregations,
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
    actedOn: async (dlqIds) => departuresBy(await ledger.claims(account, dlqIds)),
  };
}

/** @param ageMs milliseconds since the start of the daemon */
export function readiness(board: ObservationBoard, ageMs: number): { ready: boolean; detail: string } {
  const waiting = board.statuses().filter((status) => status.off === undefined && status.runs === 0);
  if (waiting.length === 0) return { ready: true, detail: 'every collector has run' };
  if (ageMs >= READY_AFTER_MS)
    return { ready: true, detail: `${waiting.length} collectors have not finished their first run` };
  return { ready: false, detail: `waiting for the first run of ${waiting.length} collectors` };
}
