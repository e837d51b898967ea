/**
 * State of a service: its accounts, their messages, and the figures of both. A data folder restores it at the start.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { AccountBook } from './state/account-book.ts';
import { createAccountState, type AccountState } from './state/account-state.ts';
import type { Account } from './state/account.ts';
import { Admission } from './http/admission.ts';
import { BudgetGuard } from './statistics/budget-guard.ts';
import type { DeliveryFaults } from './delivery/delivery-faults.ts';
import type { PortOf } from './delivery/delivery.ts';
import type { RunOptions } from './emulator-options.ts';
import type { FactListener } from './statistics/facts.ts';
import { createIndexes } from './statistics/indexes.ts';
import { beganAt, keptStatistics, restoreService } from './store/keeper.ts';
import { createLimits } from './state/limits.ts';
import type { Message } from './state/message.ts';
import { MessageOrigins } from './state/message-origins.ts';
import { createPlanBilling } from './statistics/plan-billing.ts';
import type { Route } from './http/route.ts';
import type { SigningKeyRing } from './state/signing-keys.ts';
import { createStatistics } from './statistics/statistics.ts';
import type { Store } from './store/store.ts';
import type { FractionDigits, Switches } from './state/switches.ts';

/** Surroundings of a service, which a reset keeps. */
export interface ServiceFrame {
  readonly store: Store | undefined;
  readonly options: RunOptions;
  readonly clock: Clock;
  readonly switches: Switches;
  /** Signing keys of the accounts. Receivers hold these keys, so a reset keeps them. */
  readonly signingKeys: SigningKeyRing;
  readonly deliveryFaults: DeliveryFaults;
  readonly portOf: PortOf;
  readonly isMapped: (destination: URL) => boolean;
  readonly extraRoutes: readonly Route[];
  readonly onFact: FactListener;
  readonly onAttemptEnd: (message: Message) => void;
  readonly onError: (error: unknown) => void;
}

export type ServiceState = ReturnType<typeof createServiceState>;

export function createServiceState({ options, store, clock, switches, signingKeys }: ServiceFrame) {
  const { random } = options;
  const accounts = new AccountBook(options.accounts, random);
  const enforced = options.enforceLimits ?? true;
  const limitsOf = createLimits({ ...options, enforced });
  const logMaxEntries = options.logMaxEntries ?? 1_000_000;
  const journalOf = store && store.journalOf.bind(store);
  const newState = (account: Account): AccountState =>
    createAccountState(account, { clock, limitsOf, logMaxEntries, journalOf });
  const states = new Map(accounts.all().map((account) => [account.id, newState(account)]));

  const fractionDigits = (): FractionDigits => switches.pointFractionDigits;
  /** Epoch milliseconds of the service's first start. */
  const startedAt = store === undefined ? clock.now() : beganAt(store, clock.now());
  const plans = createPlanBilling(accounts, startedAt);
  const counted = createStatistics({ plans, fractionDigits });
  const statistics = store === undefined ? counted : keptStatistics(counted, store, plans);
  const spentMicroUsd = (accountId: string, now: number): number => statistics.monthSpendMicroUsd(accountId, now);
  const budget = new BudgetGuard({ clock, enforced, spentMicroUsd });
  const admission = new Admission({ clock, limitsOf, budget, switches });
  const indexes = createIndexes({ clock, random, fractionDigits });

  const state = { startedAt, accounts, limitsOf, states, newState, statistics, budget, admission, indexes };
  const kept = { ...state, seeds: options.accounts, signingKeys, statistics: counted, now: clock.now() };
  /** Unfinished messages of an earlier process. */
  const unfinished = store === undefined ? [] : restoreService(store, kept);
  return { ...state, origins: new MessageOrigins(), unfinished };
}
