/**
 * Failed runs asked for one by one, by their run id: the one question about a run to which no shift of pages can give a
 * wrong answer. Whether the service looks at the filter is checked on each answer; what cannot be told stays open.
 */
import type { MessageApi } from '#service/api.ts';
import { isInvalidRequest, serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { KnownRun } from '../aggregation/workflow-dlq-store.ts';

/** Questions of one listing: a request each. The rest is asked with the next one. */
const MOST_ASKED = 200;

export interface Asked {
  /** Runs that are there. */
  readonly found: readonly WorkflowDlqEntry[];
  /** By dlqId. */
  readonly gone: ReadonlySet<string>;
  /** False when the service refuses the question, or answers another one. */
  readonly canAsk: boolean;
}

/** @throws the signal's reason */
export async function askFor(api: MessageApi, signal: AbortSignal, runs: readonly KnownRun[]): Promise<Asked> {
  const found: WorkflowDlqEntry[] = [];
  const gone = new Set<string>();
  let asked = 0;
  for (const { dlqId, workflowRunId } of runs) {
    if (workflowRunId === undefined) continue;
    if (asked++ === MOST_ASKED) break;
    try {
      const { value, dropped, cursor } = await api.listWorkflowDlq({ workflowRunId }, { signal });
      if (value.some((row) => row.workflowRunId !== workflowRunId)) return { found, gone, canAsk: false };
      found.push(...value);
      const isWhole = dropped === 0 && cursor === undefined;
      if (isWhole && !value.some((row) => row.dlqId === dlqId)) gone.add(dlqId);
    } catch (error) {
      signal.throwIfAborted();
      // Publishers may choose run ids: one that cannot be put into a request stays open.
      if (isInvalidRequest(error)) continue;
      const code = serviceErrorCode(error);
      if (code === undefined) throw error;
      if (code === 'client_error' || code === 'not_found') return { found, gone, canAsk: false };
      // It may pass: what was not answered is asked with the next listing.
      break;
    }
  }
  return { found, gone, canAsk: true };
}
