/** The facts of a test in the engine's words. What the test does not say is not known. */
import { matchesGlob } from '#foundation/domain/glob.ts';
import { budgetDoubt, knownBudget, type BudgetAssertion } from '#foundation/domain/known-budget.ts';
import type { EngineFacts } from '../engine/engine-deps.ts';
import type { Runs } from '../ledger/runs.ts';
import type { Raises } from '../ledger/usage.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { KnownBudget } from '../policies/facts.ts';
import type { FakeService } from './fake-service.ts';
import type { TestFacts } from './settings.ts';

/** Facts as they were told, with the moment of it: what was `5m ago` then is longer ago now. */
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
  }: { readonly ledger: Pick<Runs, 'stoppedBy'> & Raises; readonly service: FakeService; readonly clock: Clock },
): EngineFacts {
  const deliveries = (host: string) => told().facts.deliveries?.[host];

  function asserted(): BudgetAssertion | undefined {
    const { facts, at } = told();
    return (
      facts.budget && {
        knownUsd: facts.budget.knownUsd,
        assertedOn: at - facts.budget.assertedAgo,
        maxAge: facts.budget.maxAge,
      }
    );
  }

  function known(account: string): KnownBudget | undefined {
    const found = knownBudget(asserted(), ledger.raises(account, 0));
    if (found?.assertedAt === undefined || !Number.isFinite(found.knownUsd)) return undefined;
    return { ...found, assertedAt: found.assertedAt };
  }

  return {
    deliveries: (_account, host) => deliveries(host),
    // A test says what failed again by putting it into the DLQ.
    resumeEnded: () => false,
    refusedAt() {
      const { facts, at } = told();
      return facts.refusedAgo === undefined ? undefined : at - facts.refusedAgo;
    },
    clockSkewMs: () => 0,
    steadySince: () => -Infinity,
    preconditions: () => ({
      successRatio(host) {
        const counts = deliveries(host);
        return counts === undefined || counts.all === 0 ? undefined : counts.delivered / counts.all;
      },
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
      dlqMessages: () => service.messages,
      dlqFillRatio: () => told().facts.dlqFillRatio,
      policyTripped: (glob, windowMs) =>
        ledger.stoppedBy('tripwire', clock.now() - windowMs).some((policy) => matchesGlob(glob, policy)),
    }),
    budget(account) {
      const budget = known(account);
      const { spend } = told().facts;
      const says = asserted();
      // A test has told of every raise that there was.
      const of = budget && { known: budget, since: -Infinity, now: clock.now() };
      const doubt = of && budgetDoubt(says, ledger.raises(account, 0), of);
      return {
        spend: spend === undefined ? { fresh: false } : { ...spend, at: clock.now() },
        ...(budget !== undefined && { known: budget }),
        ...(says !== undefined && { asserted: says }),
        ...(doubt !== undefined && { doubt }),
      };
    },
    dlqMessages: () => service.messages,
  };
}
