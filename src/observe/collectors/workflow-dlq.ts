/**
 * The workflow DLQ: a whole listing at the start and once in every `full` interval, in between only what is new.
 *
 * A reading of what is new cannot see departures (a run that others resume or delete, or that expires, stays in the batch
 * until the next whole listing), nor an entry whose date the service filters by in another sense than that of its failure. Whoever
 * acts reads for himself; the batch is for looking at.
 *
 * What entered and what left is counted before the batch is published. What a listing of several pages does not show
 * any more is asked for run by run: pages may have shifted.
 */
import type { MessageApi } from '#service/api.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { foldWorkflowDlq, unexplained, type DlqFoldOptions, type DlqReading } from '../aggregation/workflow-dlq.ts';
import { RowMemory } from '#foundation/platform/row-memory.ts';
import { askFor } from './asked-runs.ts';
import { apiOf, offReason, type Collected, type Collector, type CollectorContext } from './collector.ts';
import { listPages, type PageBudget } from './listing.ts';

const PAGE_SIZE = 100;
/** How far a reading of what is new reaches back behind the newest entry, for those that came late. */
const OVERLAP_MS = 10 * 60_000;

export const workflowDlq: Collector<'workflowDlq'> = {
  name: 'workflowDlq',
  api: 'message',
  off: (target) => offReason(target, 'workflowDlq', 'message'),
  async collect(client, context) {
    const api = apiOf(client, 'message');
    const { previous, clock, target } = context;
    const { full, maxPages } = target.settings.workflowDlq;
    const budget: PageBudget = { left: maxPages, spent: 0 };
    // A whole listing is due when a border of the `full` grid has passed since the batch before. The grid needs no
    // memory of its own, and a clock that was set brings the listing early, never late.
    const interval = (at: number): number => Math.floor(at / full);
    const newest = previous === undefined ? undefined : newestOf(previous);
    if (previous !== undefined && newest !== undefined && interval(previous.at) === interval(clock.now())) {
      const added = await list(api, context, budget, newest - OVERLAP_MS);
      await count(context, added, api);
      // The border may have passed while this was read; then the batch to come would hide that from the next run.
      if (interval(previous.at) === interval(clock.now())) {
        return { rows: withAdded(previous.rows, added.rows), dropped: Math.max(previous.dropped, added.dropped) };
      }
    }
    const whole = await list(api, context, budget);
    return count(context, whole, api);
  },
};

/**
 * Commits what a reading adds, piece by piece: other work comes in between.
 *
 * @returns the listing, with the runs that it had skipped
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
  const options: DlqFoldOptions = {
    admit: (label, value) => context.admit(label, value, 0),
    actedOn: (dlqId) => context.actedOn?.(dlqId),
    ...(dlqRetentionMs !== undefined && { retentionMs: dlqRetentionMs }),
    unseenMs: 2 * settings.workflowDlq.full,
  };
  const memory = stores.workflowDlq.memory(account);
  const missing = unexplained({ account, ...listing, at: clock.now() }, memory, options);
  const { found, ...asked } = await askFor(api, context.signal, missing);
  const rows = found.length === 0 ? listing.rows : withAdded(listing.rows, found);
  for (const commit of foldWorkflowDlq({ account, ...listing, rows, ...asked, at: clock.now() }, memory, options)) {
    stores.workflowDlq.commitWorkflowDlq(commit);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { rows, dropped: listing.dropped };
}

type Listing = Collected<'workflowDlq'> & Pick<DlqReading, 'isWhole' | 'pages'>;

/** When the newest entry entered; undefined when there is none, for then a whole listing costs no more. */
function newestOf(batch: Batch<'workflowDlq'>): number | undefined {
  return batch.rows.at(-1)?.createdAt;
}

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

/** One row for each dlqId, the later one of the list counting; oldest first. */
function merge(rows: readonly WorkflowDlqEntry[]): WorkflowDlqEntry[] {
  return [...new Map(rows.map((row) => [row.dlqId, row])).values()].sort(byAge);
}

/** The same of rows that are in order already: two runs that a sort only has to join. */
function withAdded(before: readonly WorkflowDlqEntry[], added: readonly WorkflowDlqEntry[]): WorkflowDlqEntry[] {
  const ids = new Set(added.map(({ dlqId }) => dlqId));
  return [...before.filter(({ dlqId }) => !ids.has(dlqId)), ...added].sort(byAge);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}
