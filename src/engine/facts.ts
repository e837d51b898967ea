/** What the engine knows of its accounts at this moment, read from what collectors published and the ledger keeps. */
import type { Ledger } from '../ledger/ledger.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';
import type { EngineFacts } from './engine-deps.ts';

export interface FactsDeps {
  readonly board: ObservationBoard;
  readonly ledger: Ledger;
  readonly events: EventBus;
  readonly clock: Clock;
  readonly accounts: readonly {
    readonly name: string;
    readonly budget?: { readonly knownUsd: number; readonly assertedOn?: number; readonly maxAge: number };
  }[];
}

export function createFacts(deps: FactsDeps): EngineFacts & Disposable {
  const refusedAt = new Map<string, number>();
  const subscription = deps.events.subscribe((event) => {
    if (event.type !== 'api.request' || event.failure === undefined) return;
    if (event.code === 429 || event.failure === 'budget') refusedAt.set(event.account, deps.clock.now());
  });
  return {
    deliveries: () => undefined,
    refusedAt: (account) => refusedAt.get(account),
    preconditions: () => ({
      successRatio: () => undefined,
      sampleSize: () => undefined,
      arrivals: () => undefined,
      alertFiring: (name) => deps.ledger.alertFiring(name),
      flowWaiting: () => undefined,
      flowPaused: () => undefined,
      dlqMessages: () => undefined,
      dlqFillRatio: () => undefined,
      policyTripped: () => undefined,
    }),
    budget: () => ({ spend: { fresh: false } }),
    dlqMessages: () => undefined,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}
