/** Stores of what the daemon observes, with the state that they keep in memory. */
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import type { Database } from '#storage/database.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createFlowControlStore } from '#storage/flow-control-store.ts';
import { createHistoryStore } from '#storage/history-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import type { RowScope } from '#storage/scope.ts';
import { createRequestUseStore } from '#storage/request-use.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

interface StoresDeps {
  readonly scope: RowScope;
  readonly events: EventBus;
  /** Called after each commit of counters. */
  readonly onSaved: () => void;
}

/** @throws {Error} if the store is unavailable */
export async function openStores(store: { readonly database: Database }, { scope, events, onSaved }: StoresDeps) {
  const totals = createTotals(store, (error) => reportStoreFailure(events, 'commit of counters', error), onSaved);
  const spans = await createSpanOutbox(store, scope);
  const onDropped = (count: number): void => events.emit({ type: 'deliveries.dropped', count });
  const deliveries = await createDeliveryOutbox(store, { onDropped }, scope);
  const aggregations: AggregationStores = {
    log: createLogAggregationStore(store, totals, { spans, deliveries }),
    series: createSeriesStore(store, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(store, totals),
    history: createHistoryStore(totals),
  };
  return {
    totals,
    spans,
    deliveries,
    aggregations,
    incidents: await IncidentBook.open(createIncidentStore(store, scope)),
    labels: createLabelStore(store, totals, scope),
    notifications: createNotificationStore(store, scope),
    requestUse: createRequestUseStore(store, scope),
  };
}
