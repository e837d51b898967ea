/**
 * Collects the workflow DLQ: a complete listing at the start and once per `full` interval, and in between only new
 * entries.
 *
 * An incremental reading misses departures. A run that others resume or delete, or that expires, stays in the batch
 * until the next complete listing. It also misses an entry if the service filters by another date than the entry's
 * failure. Actions therefore do their own reading; the batch is for display.
 *
 * Arrivals and departures are counted before the batch is published. Pages may shift, so runs that a listing of several
 * pages no longer has are requested individually.
 */
import type { MessageApi } from '#service/api.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import {
  aggregateWorkflowDlq,
  unexplained,
  departing,
  type DlqAggregationOptions,
  type DlqReading,
} from '../aggregation/workflow-dlq.ts';
import type { WorkflowDlqCommit } from '../aggregation/workflow-dlq-store.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { RowMemory } from '#foundation/platform/row-memory.ts';
import { askFor } from './asked-runs.ts';
import { collectorOf, type Collected, type CollectorContext } from './collector.ts';
import { listPages, type PageBudget } from './listing.ts';

const PAGE_SIZE = 100;
/** Overlap of incremental readings: time before the newest entry that is read again for late entries. */
const OVERLAP_MS = 10 * 60_000;

export const workflowDlq = collectorOf({
  name: 'workflowDlq',
  api: 'message',
  async collect(api, context) {
    const { previous, clock, target } = context;
    const { full, maxPages } = target.settings.workflowDlq;
    const budget: PageBudget = { left: maxPages, spent: 0 };
    // A complete listing is due when a border of the `full` grid has passed since the previous batch. The grid needs no
    // stored state. A changed clock makes the listing early, never late.
    const interval = (at: number): number => Math.floor(at / full);
    // Without an entry, a complete listing costs no more.
    const newest = previous?.rows.at(-1)?.createdAt;
    if (previous !== undefined && newest !== undefined && interval(previous.at) === interval(clock.now())) {
      const added = await list(api, context, budget, newest - OVERLAP_MS);
      await count(context, added, api);
      // The border may have passed during this reading. The new batch would hide that from the next run.
      if (interval(previous.at) === interval(clock.now())) {
        return { rows: withAdded(previous.rows, added.rows), dropped: Math.max(previous.dropped, added.dropped) };
      }
    }
    const whole = await list(api, context, budget);
    return count(context, whole, api);
  },
});

/**
 * Commits the changes of a reading in parts, so that other work can run in between.
 *
 * @returns the listing, including the runs that it had skipped
 */
async function count(
  context: CollectorContext<'workflowDlq'>,
  listing: Listing,
  api: MessageApi,
): Promise<Collected<'workflowDlq'>> {
  const { clock, stores, target } = context;
  const { account, dlqRetentionMs, settings } = target;
  const keys = stores.flowControl.memory(account).seen;
  const seenAt = clock.monotonic();
  for (const { flowControlKey } of listing.rows) if (flowControlKey !== undefined) keys.add(flowControlKey, seenAt);
  const memory = await stores.workflowDlq.memory(account);
  const options: DlqAggregationOptions = {
    admit: (label, value) => context.admit(label, value, 0),
    actedOn: (await context.actedOn?.(departing(listing, memory))) ?? new Map(),
    ...(dlqRetentionMs !== undefined && { retentionMs: dlqRetentionMs }),
    unseenMs: 2 * settings.workflowDlq.full,
  };
  const missing = unexplained({ account, ...listing, at: clock.now() }, memory, options);
  const { found, ...asked } = await askFor(api, context.signal, missing);
  const rows = found.length === 0 ? listing.rows : withAdded(listing.rows, found);
  const commits = aggregateWorkflowDlq({ account, ...listing, rows, ...asked, at: clock.now() }, memory, options);
  const next = (): WorkflowDlqCommit | undefined => commits.next().value ?? undefined;
  while (await stores.workflowDlq.commitWorkflowDlq(account, next)) {
    await nextTurn();
  }
  return { rows, dropped: listing.dropped };
}

type Listing = Collected<'workflowDlq'> & Pick<DlqReading, 'isWhole' | 'pages'>;

async function list(
  api: MessageApi,
  context: CollectorContext<'workflowDlq'>,
  budget: PageBudget,
  fromDate?: number,
): Promise<Listing> {
  const what = `workflow DLQ of account ${context.target.account} (limit: collectors.workflowDlq.maxPages)`;
  const rows: WorkflowDlqEntry[] = [];
  let dropped = 0;
  let pages = 0;
  const listing = listPages(what, { budget, memory: new RowMemory() }, (cursor) =>
    api.listWorkflowDlq(
      {
        count: PAGE_SIZE,
        ...(cursor !== undefined && { cursor }),
        ...(fromDate !== undefined && { fromDate: Math.max(0, fromDate) }),
      },
      { signal: context.signal },
    ),
  );
  for await (const page of listing) {
    rows.push(...page.value);
    dropped += page.dropped;
    pages += 1;
  }
  return { rows: merge(rows), dropped, isWhole: fromDate === undefined, pages };
}

/** Returns one row per dlqId, oldest first. The later row of a duplicate wins. */
function merge(rows: readonly WorkflowDlqEntry[]): WorkflowDlqEntry[] {
  return [...new Map(rows.map((row) => [row.dlqId, row])).values()].sort(byAge);
}

/** Does the same for rows that are already sorted: the sort only has to merge two runs. */
function withAdded(before: readonly WorkflowDlqEntry[], added: readonly WorkflowDlqEntry[]): WorkflowDlqEntry[] {
  const ids = new Set(added.map(({ dlqId }) => dlqId));
  return [...before.filter(({ dlqId }) => !ids.has(dlqId)), ...added].sort(byAge);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}
