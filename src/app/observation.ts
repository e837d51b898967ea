/** Observation of accounts by collectors, and readiness. */
import type { Config } from '#config/config.ts';
import { type AccountBudget, newestBudget, type BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import { COLLECTOR_NAMES, type CollectorName } from '#foundation/domain/observation.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { CollectorContext } from '#observe/collectors/collector.ts';
import { collectors, timing, type Collector, type CollectorTarget } from '#observe/collectors/index.ts';
import { departuresBy } from '#observe/collectors/own-departures.ts';
import type { Metrics } from '#observe/metrics/metrics.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import { collectorTask } from '#observe/observations/run-collector.ts';
import { deliveryLines } from '#observe/tracing/delivery-line.ts';
import { ATTR_MSGSVC_ACCOUNT } from '#observe/tracing/semconv.ts';
import type { ServiceClient } from '#service/api.ts';
import type { GenerationBase } from './generation-base.ts';

/** Readiness is reported at the latest after this time: an unready daemon would be no help during an outage. */
const READY_AFTER_MS = 30_000;

interface Observed extends GenerationBase {
  readonly metrics: Pick<Metrics, 'admit'>;
}

const NOT_NEEDED = 'the command does not need it';

/** Schedules the collectors of every account. */
export function watchAccounts(deps: Observed): void {
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
export async function accountBudgets(
  { accounts }: Pick<Config, 'accounts'>,
  ledger: Pick<Raises, 'budgetChangesOf'>,
): Promise<ReadonlyMap<string, AccountBudget>> {
  const changes = await ledger.budgetChangesOf(accounts.map(({ name }) => name));
  return new Map(
    accounts.map(({ name, budget }) => {
      const own = changes.get(name) ?? [];
      return [name, { changes: own, known: newestBudget(budget, own) }];
    }),
  );
}

function watch<N extends CollectorName>(
  collector: Collector<N>,
  target: CollectorTarget,
  client: ServiceClient,
  deps: Observed,
): void {
  const { scheduler, board, events, clock, options } = deps;
  const { account } = target;
  const off = options.direct?.collectors.includes(collector.name) === false ? NOT_NEEDED : collector.off(target);
  const { schedule, timeoutMs, maxStalenessMs, intervalMs, describe } = timing(collector.name, target.settings);
  board.register({ account, collector: collector.name, schedule: describe, intervalMs, maxStalenessMs, off });
  if (off !== undefined) return;
  const task = collectorTask({
    account,
    collector: collector.name,
    board,
    events,
    clock,
    mayNot: () => {
      const { usedToday, allowedPerDay } = client.usage(collector.api);
      return usedToday >= allowedPerDay ? 'quota' : undefined;
    },
    collect: (signal, previous) =>
      deps.within({ name: `poll ${collector.name}`, attributes: { [ATTR_MSGSVC_ACCOUNT]: account } }, async () =>
        collector.collect(client, { ...collection(target, deps), signal, previous }),
      ),
  });
  scheduler.add({ ...task, schedule, timeoutMs, jitter: 0.3, runAtStart: true });
}

/** Returns the context of every run of a collector for an account. */
function collection(target: CollectorTarget, deps: Observed): Omit<CollectorContext, 'signal' | 'previous'> {
  const { config, options, attempts, resumeEnds, board, events, spans, storage, metrics } = deps;
  const { ledger } = storage;
  const { account } = target;
  return {
    target,
    clock: options.clock,
    stores: storage.aggregations,
    spans: spans?.source,
    lines: config.telemetry.deliveryEvents && deliveryLines,
    onAttempts: (read) => {
      attempts.take(account, read);
      resumeEnds.take(account, read);
    },
    onWatermark: (watermark) => board.logLag.take(account, watermark),
    onSetBack: (from, to) => events.emit({ type: 'log.set_back', account, from, to }),
    budgetUsd: async () => (await budgetKnowledge(config, ledger)(account))?.knownUsd,
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
