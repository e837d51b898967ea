/**
 * What the engine knows of its accounts at this moment, read from what collectors published and the ledger keeps. What
 * is stale, or was never told, is not known.
 */
import { budgetDoubt, knownBudget } from '#foundation/domain/known-budget.ts';
import type { KnownBudget } from '../policies/facts.ts';
import { spendFacts } from './budget-facts.ts';
import type { EngineFacts } from './engine-deps.ts';
import type { FactsDeps } from './facts-deps.ts';
import { preconditionFacts } from './precondition-facts.ts';

export function createFacts(deps: FactsDeps): EngineFacts & Disposable {
  const accounts = new Map(deps.accounts.map((account) => [account.name, account]));
  /** On the monotonic clock: a jump of the local clock ends no hold. */
  const refusedAt = new Map<string, number>();
  // A request that the daemon put off or did not send is none: this event is said of requests that were sent.
  const subscription = deps.events.subscribe((event) => {
    if (event.type !== 'api.request') return;
    if (event.code === 429 || event.failure === 'rate_limited') refusedAt.set(event.account, deps.clock.monotonic());
  });

  function known(account: string): KnownBudget | undefined {
    const found = knownBudget(accounts.get(account)?.budget, deps.ledger.raises(account, 0));
    // Without limit there is nothing to raise; of what nobody knows the age, nobody knows whether it still holds.
    if (found?.assertedAt === undefined || !Number.isFinite(found.knownUsd)) return undefined;
    return { ...found, assertedAt: found.assertedAt };
  }

  return {
    deliveries(account, host, windowMs) {
      const seen = deps.attempts.seen(account, host, windowMs);
      return deps.attempts.of(account, host, windowMs) ?? (seen && { ...seen, isPartial: true });
    },
    refusedAt(account) {
      const at = refusedAt.get(account);
      return at === undefined ? undefined : deps.clock.now() - (deps.clock.monotonic() - at);
    },
    clockSkewMs: (account) => deps.clock.skewMs(account),
    steadySince: () => deps.clock.steadySince,
    preconditions: (account) => preconditionFacts(account, accounts.get(account)?.limits.dlqMessages, deps),
    budget(account) {
      const budget = known(account);
      const asserted = accounts.get(account)?.budget;
      const doubt =
        budget &&
        budgetDoubt(asserted, deps.ledger.raises(account, 0), {
          known: budget,
          since: deps.ledger.accountSince(account),
          now: deps.clock.now(),
        });
      return {
        spend: spendFacts(account, budget, deps),
        ...(budget !== undefined && { known: budget }),
        ...(asserted !== undefined && { asserted }),
        ...(doubt !== undefined && { doubt }),
      };
    },
    resumeEnded: (account, message, end) => deps.resumeEnds.has(account, { ...message, end }),
    dlqMessages: (account) => deps.board.fresh(account, 'accountStats')?.rows[0]?.dlqMessages,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
