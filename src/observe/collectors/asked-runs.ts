/**
 * Requests failed runs individually by their run id. Unlike a listing, the response cannot be wrong because of shifting
 * pages. Each response shows if the service applied the filter. A run whose state stays unclear remains open.
 */
import type { MessageApi } from '#service/api.ts';
import { isInvalidRequest, serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { KnownRun } from '../aggregation/workflow-dlq-store.ts';

/** Maximum number of individual requests per listing. The next listing requests the rest. */
const MOST_ASKED = 200;

export interface AskedRuns {
  /** Runs that still exist. */
  readonly found: readonly WorkflowDlqEntry[];
  /** Missing runs, by dlqId. */
  readonly gone: ReadonlySet<string>;
  /** False if the service rejects the request, or ignores its filter. */
  readonly canAsk: boolean;
}

/** @throws the signal's reason */
export async function askFor(api: MessageApi, signal: AbortSignal, runs: readonly KnownRun[]): Promise<AskedRuns> {
  const found: WorkflowDlqEntry[] = [];
  const gone = new Set<string>();
  let asked = 0;
  for (const { dlqId, workflowRunId } of runs) {
    if (asked++ === MOST_ASKED) break;
    try {
      const { value, dropped, cursor } = await api.listWorkflowDlq({ workflowRunId }, { signal });
      if (value.some((row) => row.workflowRunId !== workflowRunId)) return { found, gone, canAsk: false };
      found.push(...value);
      const isWhole = dropped === 0 && cursor === undefined;
      if (isWhole && !value.some((row) => row.dlqId === dlqId)) gone.add(dlqId);
    } catch (error) {
      signal.throwIfAborted();
      // Publishers may choose run ids. A run whose id is not valid in a request stays open.
      if (isInvalidRequest(error)) continue;
      const code = serviceErrorCode(error);
      if (code === undefined) throw error;
      if (code === 'client_error' || code === 'not_found') return { found, gone, canAsk: false };
      // The failure may be temporary. The next listing requests the remaining runs.
      break;
    }
  }
  return { found, gone, canAsk: true };
}
