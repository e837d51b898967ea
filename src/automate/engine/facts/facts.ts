/** Facts about accounts, from the collectors' results and the ledger. Stale or missing data is unknown. */
import { budgetDoubt, knownBudget, type BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { KnownBudget } from '../../policies/facts.ts';
import { spendFacts } from './budget-facts.ts';
import type { EngineFacts } from './engine-deps.ts';
import type { FactsDeps } from './facts-deps.ts';
import { preconditionFacts } from './precondition-facts.ts';

export function createFacts(deps: FactsDeps): EngineFacts & Disposable {
  const accounts = new Map(deps.accounts.map((account) => [account.name, account]));
  /** Times on the monotonic clock: a jump of the local clock ends no hold. */
  const refusedAt = new Map<string, number>();
  // Only requests that were sent emit this event, so delayed and unsent requests do not count.
  const subscription = deps.events.subscribe((event) => {
    if (event.type !== 'api.request') return;
    if (event.code === 429 || event.failure === 'rate_limited') refusedAt.set(event.account, deps.clock.monotonic());
  });

  function known(account: string, changes: readonly BudgetRaise[]): KnownBudget | undefined {
    const found = knownBudget(accounts.get(account)?.budget, changes);
    // Without a limit there is nothing to raise. A budget of unknown age may be outdated.
    if (found?.assertedAt === undefined || !Number.isFinite(found.knownUsd)) return undefined;
    return { ...found, assertedAt: found.assertedAt };
  }

  return {
    deliveries(account, host, windowMs) {
      const whole = deps.attempts.of(account, host, windowMs);
      const newer = deps.attempts.of(account, host, windowMs / 2);
      if (whole !== undefined) return { ...whole, ...(newer !== undefined && { newer }) };
      const seen = deps.attempts.seen(account, host, windowMs);
      return seen && { ...seen, isPartial: true };
    },
    refusedAt(account) {
      const at = refusedAt.get(account);
      return at === undefined ? undefined : deps.clock.now() - (deps.clock.monotonic() - at);
    },
    clockSkewMs: (account) => deps.clock.skewMs(account),
    steadySince: () => deps.clock.steadySince,
    preconditions: async (account) => preconditionFacts(account, accounts.get(account)?.limits.dlqMessages, deps),
    async budget(account) {
      const changes = await deps.ledger.budgetChanges(account, 0);
      const since = await deps.ledger.accountSince(account);
      const budget = known(account, changes);
      const asserted = accounts.get(account)?.budget;
      const doubt = budget && budgetDoubt(asserted, changes, { known: budget, since, now: deps.clock.now() });
      return {
        spend: await spendFacts(account, budget, deps),
        changes,
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
