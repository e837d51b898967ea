/** Facts of a test, converted for the engine. Facts that the test does not state are unknown. */
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { BudgetAssertion } from '#foundation/domain/known-budget.ts';
import type { EngineFacts } from '../engine/facts/engine-deps.ts';
import { budgetState, ratioOf, tripsIn } from '../engine/facts/facts.ts';
import type { Runs } from '../ledger/runs.ts';
import type { Raises } from '../ledger/usage.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { PreconditionFacts } from '../policies/facts.ts';
import type { FakeService } from './fake-service.ts';
import type { TestFacts } from './settings.ts';

/** Facts with the time when the test stated them: `5m ago` counts from that time. */
export interface ToldFacts {
  readonly facts: TestFacts;
  readonly at: number;
}

export function engineFacts(
  told: () => ToldFacts,
  {
    ledger,
    service,
    clock,
  }: { readonly ledger: Pick<Runs, 'lastStops'> & Raises; readonly service: FakeService; readonly clock: Clock },
): EngineFacts {
  const deliveries = (host: string) => told().facts.deliveries?.[host];

  function asserted(): BudgetAssertion | undefined {
    const { facts, at } = told();
    return facts.budget && { ...facts.budget, assertedOn: at - facts.budget.assertedAgo };
  }

  function preconditions(trips: ReadonlyMap<string, number>): PreconditionFacts {
    return {
      successRatio: (host) => ratioOf(deliveries(host)),
      sampleSize: (host) => deliveries(host)?.all,
      arrivals(label, windowMs) {
        const since = clock.now() - windowMs;
        return [...service.entries.values()].filter(
          ({ createdAt, labels }) => createdAt >= since && labels.includes(label),
        ).length;
      },
      alertFiring: (name) => told().facts.alertFiring?.[name],
      flowWaiting: (key) => told().facts.flowWaiting?.[key],
      flowPaused: (key) => told().facts.flowPaused?.[key],
      canary: (name) => told().facts.canary?.[name],
      dlqMessages: () => service.messages,
      dlqFillRatio: () => told().facts.dlqFillRatio,
      policyTripped: tripsIn(trips, clock),
    };
  }

  return {
    deliveries: (_account, host) => deliveries(host),
    // A test makes a run fail again by adding it to the DLQ. A message is delivered unless the test makes it fail.
    resumeEnded: (_account, stamp, end) => service.endOf(formatStamp(stamp)) === end,
    refusedAt() {
      const { facts, at } = told();
      return facts.refusedAgo === undefined ? undefined : at - facts.refusedAgo;
    },
    clockSkewMs: () => 0,
    steadySince: () => -Infinity,
    preconditions: async () => preconditions(await ledger.lastStops('tripwire', 0)),
    async budget(account) {
      const changes = await ledger.budgetChanges(account, 0);
      const { spend } = told().facts;
      // The test states all raises, so none is missing.
      const state = budgetState(asserted(), changes, { since: -Infinity, now: clock.now() });
      return { ...state, spend: spend === undefined ? { fresh: false } : { ...spend, at: clock.now() } };
    },
    dlqMessages: () => service.messages,
  };
}
