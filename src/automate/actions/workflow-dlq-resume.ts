/**
 * Resume of a failed workflow run, with one id in each request, so that the old entry and the new run can be paired.
 * The run keeps its own labels and gets this daemon's stamp. Other properties stay unchanged.
 */
import type { NonEmpty, ServiceClient } from '#service/api.ts';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { ResumeProposal } from '#foundation/domain/plan.ts';
import type { ActResult, ResumeRequest } from './action.ts';

export function describeResume(proposal: ResumeProposal, options: { readonly instance: string }): ResumeRequest {
  const { lineage, attempt, retries, flowControl } = proposal;
  const stamp = formatStamp({ instance: options.instance, lineage, attempt });
  const labels: NonEmpty<string> = [stamp, ...proposal.labels];
  // The entry's own flow control stays: its owner chose that limit for the destination.
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

/** @throws the client's errors */
export async function sendResume(
  client: ServiceClient,
  request: ResumeRequest,
  signal: AbortSignal,
): Promise<ActResult> {
  const { runs } = await client.message!.resumeWorkflowDlq(request.dlqIds, request.overrides, { signal });
  const [run, ...more] = runs;
  // A successful response without a run: the entry may be gone, or the response may be truncated. Only a read can show
  // it.
  if (run === undefined) return { outcome: 'unknown', detail: 'the response names no resumed run' };
  // With several runs, the entry's own is unknown.
  if (more.length > 0) return { outcome: 'accepted', done: runs.length };
  return { outcome: 'accepted', done: 1, newRunId: run.workflowRunId };
}
