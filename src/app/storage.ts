/** Store of the daemon, with everything in it. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { countedAudit } from '#automate/ledger/counted-audit.ts';
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { auditFiles } from '#storage/audit-files.ts';
import { createBackupFolder } from '#storage/backup-folder.ts';
import { createCopies } from '#storage/backup.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createFlowControlStore } from '#storage/flow-control-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createNotificationStore } from '#storage/notification-store.ts';
import { createRequestUseStore } from '#storage/request-use.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { openStore } from '#storage/sqlite.ts';
import type { DirectOptions } from './options.ts';
import type { Parts } from './parts.ts';

export type Storage = Awaited<ReturnType<typeof openStorage>>;

interface StorageDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly direct: DirectOptions | undefined;
}

const READS_ONLY = 'this command works without a daemon and only reads';

/** @throws {Error} if the store is unavailable */
export async function openStorage({ storage }: Config, { clock, events, direct }: StorageDeps, parts: Parts) {
  const isInMemory = direct?.store === 'memory';
  const store = parts.use(isInMemory ? openMemoryStore('direct', READS_ONLY) : openStore(storage.sqlite.path));
  // A direct daemon leaves the counters, spans and notifications of the configured store alone.
  const observed = direct === undefined ? store : parts.use(openMemoryStore('direct'));
  const copies = createCopies(store);
  parts.ending('copies of the store', 10_000, async () => copies[Symbol.asyncDispose]());
  let savedAt: number | undefined;
  const totals = createTotals(
    observed,
    (message) => events.emit({ type: 'store.failed', operation: 'commit of counters', message }),
    () => void (savedAt = clock.now()),
  );
  const kept = keepCounts({ events, totals, clock });
  // These end after the parts whose last events they count.
  parts.ending('commits of counters', 5_000, () => totals.settled());
  parts.ending('counts of the daemon', 2_000, async () => kept[Symbol.asyncDispose]());
  const spans = await createSpanOutbox(observed);
  const deliveries = await createDeliveryOutbox(observed, {
    onDropped: (count) => events.emit({ type: 'deliveries.dropped', count }),
  });
  const aggregations: AggregationStores = {
    log: createLogAggregationStore(observed, totals, { spans, deliveries }),
    series: createSeriesStore(observed, totals),
    flowControl: createFlowControlStore(totals),
    workflowDlq: createWorkflowDlqStore(observed, totals),
  };
  const audit = parts.use(isInMemory ? memoryAudit() : openAuditLog(store, clock, storage.audit.maxFileBytes));
  const counted = countedAudit(audit);
  return {
    store,
    copies,
    totals,
    /** Epoch milliseconds of the last commit of counters. */
    savedAt: () => savedAt,
    spans,
    deliveries,
    aggregations,
    requestUse: createRequestUseStore(store),
    audit,
    auditCounts: counted.counts,
    auditReader: {
      ...auditFiles(auditPathOf(storage.sqlite.path), async () => audit.head()),
      verify: () => audit.verify(),
    } satisfies AuditReader,
    ledger: await openLedger(store, counted.audit),
    incidents: await IncidentBook.open(createIncidentStore(observed)),
    labels: createLabelStore(observed, totals),
    notifications: createNotificationStore(observed),
    ...(storage.backup !== undefined &&
      direct === undefined && {
        backups: { every: storage.backup.every, folder: createBackupFolder(storage.backup, { store, copies, clock }) },
      }),
  };
}
