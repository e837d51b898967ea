/**
 * Resuming a failed workflow run: one id a request, so that the old entry and the new run can be paired. The run
 * keeps its own labels and gets our stamp beside them; what it had and is not named here stays as it was.
 */
import type { NonEmpty, ServiceClient } from '#service/api.ts';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { ResumeProposal } from '#foundation/domain/plan.ts';
import type { ActResult, ResumeRequest } from './action.ts';

export function describeResume(proposal: ResumeProposal, options: { readonly instance: string }): ResumeRequest {
  const { lineage, attempt, retries, flowControl } = proposal;
  const stamp = formatStamp({ instance: options.instance, lineage, attempt });
  const labels: NonEmpty<string> = [stamp, ...proposal.labels];
  // The entry's own flow control is the limit that its owner chose for the destination: it stays.
  const lacksFlowControl = proposal.flowControlKey === undefined;
  return {
    operation: 'resume-workflow-dlq',
    account: proposal.account,
    dlqIds: [proposal.dlqId],
    overrides: {
      labels,
      ...(retries !== undefined && { retries }),
      ...(flowControl !== undefined && lacksFlowControl && { flowControl }),
    },
  };
}

/** @throws as the client does */
export async function sendResume(
  client: ServiceClient,
  request: ResumeRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { runs } = await client.message!.resumeWorkflowDlq(request.dlqIds, request.overrides, { signal });
  const [run, ...more] = runs;
  // No run in a good answer: perhaps the entry was gone, perhaps the answer is cut. Only reading can tell.
  if (run === undefined) return { outcome: 'unknown', detail: 'the answer names no resumed run' };
  // Which of several runs is the entry's cannot be told.
  if (more.length > 0) return { outcome: 'accepted', done: runs.length };
  return { outcome: 'accepted', done: 1, newRunId: run.workflowRunId };
}
