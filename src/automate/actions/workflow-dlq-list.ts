/** Complete listing of the workflow DLQ: all pages under one filter, or the reason why it is incomplete. */
import type { ServiceClient, WorkflowDlqFilter } from '#service/api.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { repeated } from '#foundation/platform/repeated.ts';
import { RowMemory } from '#foundation/platform/row-memory.ts';

export interface WorkflowDlqListing {
  /** True if all pages were read and no request failed. */
  readonly complete: boolean;
  /** Reason why the listing is incomplete. */
  readonly problem?: string;
  /** Each dlqId once, in the service's order. */
  readonly entries: readonly WorkflowDlqEntry[];
  /** Number of rows with a dlqId that was already listed: pages shift while the set changes. */
  readonly duplicates: number;
  /** Number of invalid rows, which were dropped. */
  readonly dropped: number;
  readonly pages: number;
  /** Local clock minus the service's, in milliseconds. Absent if the service sent no Date header. */
  readonly clockSkewMs?: number;
}

const PAGE_SIZE = 100;

/** Lists all pages. Never rejects: a failed or aborted read is an incomplete listing. */
export async function listWorkflowDlq(
  client: ServiceClient | undefined,
  filter: WorkflowDlqFilter,
  signal: AbortSignal,
  options: { readonly clock: Clock; readonly maxPages: number },
): Promise<WorkflowDlqListing> {
  const rows: WorkflowDlqEntry[] = [];
  const cursors = new Set<string>();
  const memory = new RowMemory();
  let pages = 0;
  let dropped = 0;
  let skew: number | undefined;
  let problem: string | undefined;
  try {
    if (client?.message === undefined) throw new Error('the account has no message API');
    for (let cursor: string | undefined; ;) {
      if (pages === options.maxPages) throw new Error(`more than ${options.maxPages} pages`);
      const page = await client.message.listWorkflowDlq(
        { ...filter, count: PAGE_SIZE, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      pages++;
      dropped += page.dropped;
      if (!memory.keep(page.value, page.bytes))
        throw new Error(`the rows of ${pages} pages need too much memory; use narrower filters`);
      for (const row of page.value) rows.push(row);
      if (page.servedAt !== undefined) skew = nearerToZero(skew, options.clock.now() - page.servedAt);
      cursor = page.cursor;
      if (cursor === undefined || cursor === '') break;
      if (cursors.has(cursor)) throw new Error('the service repeated a cursor');
      cursors.add(cursor);
    }
  } catch (error) {
    problem = explain(error);
  }
  const entries = eachOnce(rows);
  return {
    complete: problem === undefined,
    problem,
    entries,
    duplicates: rows.length - entries.length,
    dropped,
    pages,
    clockSkewMs: skew,
  };
}

/** Returns the first row of each dlqId. */
function eachOnce(rows: readonly WorkflowDlqEntry[]): readonly WorkflowDlqEntry[] {
  const several = repeated(rows, ({ dlqId }) => dlqId);
  if (several.size === 0) return rows;
  const seen = new Set<string>();
  return rows.filter(({ dlqId }) => !several.has(dlqId) || (!seen.has(dlqId) && seen.add(dlqId)));
}

/**
 * Returns the skew nearest to zero: a slow response makes the local clock seem ahead, so the smallest reading is best.
 */
function nearerToZero(a: number | undefined, b: number): number {
  return a === undefined || Math.abs(b) < Math.abs(a) ? b : a;
}

function explain(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  return typeof code === 'string' ? `${code}: ${text}` : text;
}
