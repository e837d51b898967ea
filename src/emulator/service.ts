/**
 * The service behind the server, composed of its parts. A reset creates a new one in the same frame, so that all its
 * state is discarded.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { AccountBook, type AccountSeed } from './state/account-book.ts';
import { createAccountState, type AccountState } from './state/account-state.ts';
import type { Account } from './state/account.ts';
import { Admission } from './http/admission.ts';
import { BudgetGuard } from './statistics/budget-guard.ts';
import { Compact } from './state/compact.ts';
import type { ControlledService } from './control/control.ts';
import { Deliverer, type PortOf } from './delivery/delivery.ts';
import type { EmulatorOptions } from './emulator-options.ts';
import { Engine } from './delivery/engine.ts';
import type { FactListener } from './statistics/facts.ts';
import { createIndexes } from './statistics/indexes.ts';
import { beganAt, durableRoutes, keptStatistics, restoreService } from './store/keeper.ts';
import { createLimits } from './state/limits.ts';
import { managementRoutes } from './http/management-routes.ts';
import { MessageOrigins } from './state/message-origins.ts';
import { messageRoutes } from './http/message-routes.ts';
import { describedRoutes } from './http/described-routes.ts';
import { createPlanBilling } from './statistics/plan-billing.ts';
import type { Route } from './http/route.ts';
import { createRouter, type MatchRoute } from './http/router.ts';
import { SharedLimits } from './delivery/shared-limits.ts';
import type { SigningKeyRing } from './state/signing-keys.ts';
import { createStatistics } from './statistics/statistics.ts';
import type { Store } from './store/store.ts';
import type { FractionDigits, Switches } from './state/switches.ts';
import { deliveryHeaderNames } from './delivery/wire-names.ts';

/** Maximum bytes of a response in a callback, where no limit is enforced. It bounds a response that never ends. */
const MAX_CALLBACK_BYTES = 52_428_800;

/** Parts that a reset keeps. */
export interface ServiceFrame {
  readonly store: Store | undefined;
  readonly options: EmulatorOptions;
  readonly clock: Clock;
  readonly switches: Switches;
  /** Signing keys of the accounts. Receivers hold these keys, so a reset keeps them. */
  readonly signingKeys: SigningKeyRing;
  readonly portOf: PortOf;
  readonly isMapped: (destination: URL) => boolean;
  readonly extraRoutes: readonly Route[];
  readonly onFact: FactListener;
  readonly onError: (error: unknown) => void;
}

export interface Service extends ControlledService {
  readonly admission: Admission;
  readonly match: MatchRoute;
  /** Continues the unfinished work of an earlier process. */
  readonly begin: () => void;
}

export function createService(frame: ServiceFrame): Service {
  const { options, store, clock, switches, signingKeys, portOf, isMapped, extraRoutes, onFact, onError } = frame;
  const { random } = options;
  const headerPrefix = options.headerPrefix ?? 'Svc';
  const headerNames = deliveryHeaderNames(headerPrefix);
  const product = options.product ?? 'msgsvc';
  const maxDeliveries = options.maxDeliveries ?? 128;

  const accounts = new AccountBook(options.accounts, random);
  const enforced = options.enforceLimits ?? true;
  const limitsOf = createLimits({
    enforced,
    logRetentionMs: options.logRetentionMs,
    dlqRetentionMs: options.dlqRetentionMs,
  });
  const logMaxEntries = options.logMaxEntries ?? 1_000_000;
  const journalOf = store && store.journalOf.bind(store);
  const stateOptions = { clock, limitsOf, logMaxEntries, journalOf };
  const states = new Map<string, AccountState>(
    accounts.all().map((account) => [account.id, createAccountState(account, stateOptions)]),
  );
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
  const engine = new Engine({
    clock,
    random,
    deliverer: new Deliverer({
      clock,
      compact,
      connections: maxDeliveries,
      portOf,
      refusesPrivate: () => switches.privateDestinations === 'refused',
    }),
    compact,
    headerNames,
    switches,
    signing: { issuer: options.issuer ?? product, keys: signingKeys },
    callbackBytes: (accountId) => Math.min(limitsOf(accounts.byId(accountId)!).messageBytes, MAX_CALLBACK_BYTES),
    shared: new SharedLimits(clock, (accountId) => limitsOf(accounts.byId(accountId)!)),
    exhausted: (accountId) => budget.exhausted(accounts.byId(accountId)!)?.reason,
    workers: maxDeliveries,
    states,
    onFact: (accountId, fact) => {
      statistics.record(accountId, fact);
      onFact(accountId, fact);
    },
    onError,
  });

  accounts.onPlanChanged(() => engine.limitsChanged());

  const dlqMessageCount = (accountId: string): number => {
    const state = states.get(accountId);
    if (state === undefined) return 0;
    state.dlq.trim(clock.now());
    state.workflowDlq.trim(clock.now());
    return state.dlq.size + (switches.dlqMessageCount === 'all' ? state.workflowDlq.size : 0);
  };
  const routes = describedRoutes(
    [
      ...messageRoutes({
        clock,
        random,
        engine,
        compact,
        admission,
        limitsOf,
        origins,
        states,
        isMapped,
        switches,
        headerNames,
        headerPrefix,
      }),
      ...managementRoutes({ startedAt, clock, accounts, statistics, indexes, product, dlqMessageCount }),
    ],
    { headerPrefix, product, switches },
  );
  const served = store === undefined ? routes : durableRoutes(routes, store);
  const match = createRouter([...served, ...extraRoutes]);
  const begin = (): void => {
    for (const { message, due } of unfinished.splice(0)) engine.resume(message, due);
  };
  const addAccount = (seed: AccountSeed): Account => {
    const account = accounts.add(seed, random);
    account.createdAt = clock.now();
    states.set(account.id, createAccountState(account, stateOptions));
    return account;
  };
  return {
    accounts,
    admission,
    limitsOf,
    states,
    statistics,
    indexes,
    engine,
    origins,
    headerNames,
    addAccount,
    match,
    begin,
  };
}
