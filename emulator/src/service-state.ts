/**
 * State of a service: its accounts, their messages, and the figures of both. A data folder restores it at the start.
 */
import { AccountBook } from './state/account-book.ts';
import { createAccountState, type AccountState } from './state/account-state.ts';
import type { Account } from './state/account.ts';
import { Admission } from './http/admission.ts';
import { BudgetGuard } from './statistics/budget-guard.ts';
import { Compact } from './state/compact.ts';
import { createIndexes, type Indexes } from './statistics/indexes.ts';
import { beganAt, keptStatistics, restoreService } from './store/keeper.ts';
import { createLimits, type LimitsOf } from './state/limits.ts';
import { MessageOrigins } from './state/message-origins.ts';
import { createPlanBilling } from './statistics/plan-billing.ts';
import type { ServiceFrame } from './service-frame.ts';
import { createStatistics, type Statistics } from './statistics/statistics.ts';
import type { FractionDigits } from './state/switches.ts';
import type { Unfinished } from './store/restore.ts';

export interface ServiceState {
  /** Epoch milliseconds of the service's first start. */
  readonly startedAt: number;
  readonly accounts: AccountBook;
  readonly limitsOf: LimitsOf;
  readonly states: Map<string, AccountState>;
  readonly newState: (account: Account) => AccountState;
  readonly statistics: Statistics;
  readonly budget: BudgetGuard;
  readonly admission: Admission;
  readonly indexes: Indexes;
  readonly origins: MessageOrigins;
  readonly compact: Compact;
  /** Unfinished messages of an earlier process. */
  readonly unfinished: Unfinished[];
}

export function createServiceState({ options, store, clock, switches, signingKeys }: ServiceFrame): ServiceState {
  const { random } = options;
  const accounts = new AccountBook(options.accounts, random);
  const enforced = options.enforceLimits ?? true;
  const limitsOf = createLimits({
    enforced,
    logRetentionMs: options.logRetentionMs,
    dlqRetentionMs: options.dlqRetentionMs,
  });
  const logMaxEntries = options.logMaxEntries ?? 1_000_000;
  const journalOf = store && store.journalOf.bind(store);
  const newState = (account: Account): AccountState =>
    createAccountState(account, { clock, limitsOf, logMaxEntries, journalOf });
  const states = new Map(accounts.all().map((account) => [account.id, newState(account)]));

  const fractionDigits = (): FractionDigits => switches.pointFractionDigits;
  const startedAt = store === undefined ? clock.now() : beganAt(store, clock.now());
  const plans = createPlanBilling(accounts, startedAt);
  const counted = createStatistics({ plans, fractionDigits });
  const statistics = store === undefined ? counted : keptStatistics(counted, store, plans);
  const spentMicroUsd = (accountId: string, now: number): number => statistics.monthSpendMicroUsd(accountId, now);
  const budget = new BudgetGuard({ clock, enforced, spentMicroUsd });
  const admission = new Admission({ clock, limitsOf, budget, switches });
  const indexes = createIndexes({ clock, random, fractionDigits });

  const origins = new MessageOrigins();
  const compact = new Compact();
  const unfinished =
    store === undefined
      ? []
      : restoreService(store, {
          seeds: options.accounts,
          accounts,
          states,
          signingKeys,
          indexes,
          statistics: counted,
          admission,
          compact,
          now: clock.now(),
        });
  return {
    startedAt,
    accounts,
    limitsOf,
    states,
    newState,
    statistics,
    budget,
    admission,
    indexes,
    origins,
    compact,
    unfinished,
  };
}
