/**
 * What the engine knows of its accounts at this moment, read from what collectors published and the ledger keeps. What
 * is stale, or was never told, is not known.
 */
import { knownBudget, type BudgetAssertion } from '../domain/known-budget.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { RecentAttempts } from '../observations/recent-attempts.ts';
import type { ResumeEnds } from '../observations/resume-ends.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';
import type { KnownBudget } from '../policies/facts.ts';
import { spendFacts } from './budget-facts.ts';
import type { EngineFacts } from './engine-deps.ts';
import { preconditionFacts } from './precondition-facts.ts';

export interface FactsDeps {
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly resumeEnds: ResumeEnds;
  readonly ledger: Ledger;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly accounts: readonly {
    readonly name: string;
    readonly limits: { readonly dlqMessages?: number };
    readonly budget?: BudgetAssertion;
  }[];
}

export function createFacts(deps: FactsDeps): EngineFacts & Disposable {
  const accounts = new Map(deps.accounts.map((account) => [account.name, account]));
  const refusedAt = new Map<string, number>();
  const skews = new Map<string, number>();
  // A request that the daemon put off or did not send is none: this event is said of requests that were sent.
  const subscription = deps.events.subscribe((event) => {
    if (event.type !== 'api.request') return;
    if (event.clockSkewMs !== undefined && event.api === 'message') skews.set(event.account, event.clockSkewMs);
    if (event.code === 429 || event.failure === 'rate_limited') refusedAt.set(event.account, deps.clock.now());
  });

  function known(account: string): KnownBudget | undefined {
    const found = knownBudget(accounts.get(account)?.budget, deps.ledger.raises(account, 0));
    // Without limit there is nothing to raise; of what nobody knows the age, nobody knows whether it still holds.
    if (found?.assertedAt === undefined || !Number.isFinite(found.knownUsd)) return undefined;
    return { ...found, assertedAt: found.assertedAt };
  }

  return {
    deliveries: (account, host, windowMs) => deps.attempts.of(account, host, windowMs),
    refusedAt: (account) => refusedAt.get(account),
    clockSkewMs: (account) => skews.get(account),
    preconditions: (account) => preconditionFacts(account, accounts.get(account)?.limits.dlqMessages, deps),
    budget(account) {
      const budget = known(account);
      const asserted = accounts.get(account)?.budget;
      return {
        spend: spendFacts(account, budget, deps),
        ...(budget !== undefined && { known: budget }),
        ...(asserted !== undefined && { asserted }),
      };
    },
    resumeEnded: (account, message, end) => deps.resumeEnds.has(account, { ...message, end }),
    dlqMessages: (account) => deps.board.fresh(account, 'accountStats')?.rows[0]?.dlqMessages,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
