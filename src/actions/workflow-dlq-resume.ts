/**
 * Resuming a failed workflow run: one id a request, so that the old entry and the new run can be paired. The run
 * keeps its own labels and gets our stamp beside them; what it had and is not named here stays as it was.
 */
import type { NonEmpty, ResumeOverrides, ServiceClient } from '../client/api.ts';
import { formatStamp } from '../domain/lineage.ts';
import type { Proposal } from '../domain/plan.ts';

/** Exactly what is sent: made before anything is, and nothing is added afterwards. */
export interface ResumeRequest {
  readonly operation: 'resume-workflow-dlq';
  readonly account: string;
  readonly dlqIds: readonly [string];
  readonly overrides: ResumeOverrides;
}

/**
 * What became of a request. `rejected` is proof of no effect; `unknown` is neither proof nor success, and must be
 * resolved by reading.
 */
export type ActResult =
  | { readonly outcome: 'acked'; readonly done: number; readonly newRunId?: string }
  | { readonly outcome: 'rejected' | 'unknown'; readonly code?: string; readonly detail: string };

export function describeResume(
  proposal: Proposal,
  options: { readonly instance: string; readonly retries?: number },
): ResumeRequest {
  const stamp = formatStamp({ instance: options.instance, lineage: proposal.lineage, attempt: proposal.attempt });
  const labels: NonEmpty<string> = [stamp, ...proposal.labels];
  return {
    operation: 'resume-workflow-dlq',
    account: proposal.account,
    dlqIds: [proposal.dlqId],
    overrides: { labels, ...(options.retries !== undefined && { retries: options.retries }) },
  };
}

/**
 * Sends one request. The caller's signal has no part in it: a request that is under way is finished, within the
 * client's own time, and its answer is worth waiting for. Never rejects.
 */
export async function sendResume(client: ServiceClient | undefined, request: ResumeRequest): Promise<ActResult> {
  if (client?.message === undefined) {
    return { outcome: 'rejected', detail: `account ${request.account} has no message API` };
  }
  try {
    const { signal } = new AbortController();
    const { runs } = await client.message.resumeWorkflowDlq(request.dlqIds, request.overrides, { signal });
    const [run, ...more] = runs;
    // No run in a good answer: perhaps the entry was gone, perhaps the answer is cut. Only reading can tell.
    if (run === undefined) return { outcome: 'unknown', detail: 'the answer names no resumed run' };
    // Which of several runs is the entry's cannot be told.
    if (more.length > 0) return { outcome: 'acked', done: runs.length };
    return { outcome: 'acked', done: 1, newRunId: run.workflowRunId };
  } catch (error) {
    const { code, effect, message } = error as { code?: unknown; effect?: unknown; message?: unknown };
    return {
      outcome: effect === 'none' ? 'rejected' : 'unknown',
      ...(typeof code === 'string' && { code }),
      detail: typeof message === 'string' ? message.slice(0, 300) : 'unreadable error',
    };
  }
}
