/**
 * Applies the daemon's own actions on the workflow DLQ immediately. A run that it resumed or deleted is removed from
 * the batch and counted out. The next complete listing finds the run counted. After a crash in between, that listing
 * counts it.
 */
import type { ClaimKind } from '#foundation/domain/plan.ts';
import { aggregateOwnDepartures, type OwnActions } from '../aggregation/workflow-dlq.ts';
import type { WorkflowDlqAggregationStore } from '../aggregation/workflow-dlq-store.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Time over which departures are collected. A step may have hundreds of actions, and they are applied together. */
const TOGETHER_MS = 1_000;

/** Outcomes that prove that the entry left the DLQ, regardless of its run's fate. */
const LEFT: ReadonlySet<string> = new Set(['accepted', 'verified', 'confirmed_applied', 'failed_again']);

export interface OwnDeparturesDeps {
  readonly events: EventBus;
  readonly clock: Clock;
  readonly store: WorkflowDlqAggregationStore;
  /** Returns how the daemon removed entries from the DLQ, from the ledger. */
  readonly actedOn: (account: string, dlqIds: Iterable<string>) => Promise<OwnActions>;
  /** Removes runs from the latest batch. */
  readonly depart: (account: string, dlqIds: ReadonlySet<string>) => void;
}

export function applyOwnDepartures({ events, clock, store, actedOn, depart }: OwnDeparturesDeps): Disposable {
  const waiting = new Map<string, { readonly dlqIds: Set<string>; readonly timer: Timer }>();

  async function apply(account: string): Promise<void> {
    const { dlqIds } = waiting.get(account)!;
    waiting.delete(account);
    depart(account, dlqIds);
    try {
      const options = { actedOn: await actedOn(account, dlqIds), at: clock.now() };
      await store.commitWorkflowDlq(account, (memory) => aggregateOwnDepartures({ account, dlqIds }, memory, options));
    } catch (error) {
      // The next complete listing counts them.
      reportStoreFailure(events, 'count of departures', error);
    }
  }

  const subscription = events.subscribe((event) => {
    if (event.type !== 'action.outcome' || !event.action.startsWith('workflow-dlq.')) return;
    const { account, target, outcome } = event;
    if (!LEFT.has(outcome)) return;
    const arm = () => ({ dlqIds: new Set<string>(), timer: clock.after(TOGETHER_MS, () => void apply(account)) });
    getOrAdd(waiting, account, arm).dlqIds.add(target);
  });
  return {
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      for (const { timer } of waiting.values()) timer.cancel();
    },
  };
}

/** Returns how actions remove their entries from the workflow DLQ. A retrigger removes none. */
export function departuresBy(claims: ReadonlyMap<string, ClaimKind>): OwnActions {
  const actions = [...claims].filter(([, kind]) => kind !== 'retrigger');
  return new Map(actions.map(([id, action]) => [id, action === 'workflow-dlq.delete' ? 'deleted' : 'resumed']));
}
