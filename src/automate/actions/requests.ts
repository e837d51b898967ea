/**
 * Requests of the actions: how each proposal becomes a request, and how the request is sent. Each request on entries has
 * one id, so that the entry and its outcome can be paired. All deletes cannot be undone.
 */
import { editOf, type CarriedMessage } from '#foundation/domain/carried-message.ts';
import { contentHash } from '#foundation/platform/content-hash.ts';
import type { DlqFilter, FailureCallback, MessageApi, NonEmpty, ServiceClient } from '#service/api.ts';
import { hash } from 'node:crypto';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { Proposal, PruneProposal, RepublishProposal, ResumeProposal } from '#foundation/domain/plan.ts';
import {
  isPrune,
  type ActionRequest,
  type ActResult,
  type PruneRequest,
  type RepublishRequest,
  type ResumeRequest,
} from './action.ts';
import { refusedUnsent } from './failed-call.ts';

export function describeRequest(proposal: Proposal, { instance }: { readonly instance: string }): ActionRequest {
  const { account } = proposal;
  switch (proposal.action) {
    case 'workflow-dlq.resume':
      return describeResume(proposal, instance);
    case 'workflow-dlq.delete':
      return { operation: 'delete-workflow-dlq', account, dlqIds: [proposal.dlqId] };
    case 'message-dlq.republish':
      return describeRepublish(proposal, instance);
    case 'message-dlq.delete':
      return { operation: 'delete-dlq', account, dlqIds: [proposal.dlqId] };
    case 'message-dlq.prune':
      return describePrune(proposal);
    case 'budget.raise':
      return { operation: 'update-budget', account, dollars: proposal.toUsd, aboveUsd: proposal.fromUsd };
  }
}

/** The run keeps its own labels and gets this daemon's stamp. Other properties stay unchanged. */
function describeResume(proposal: ResumeProposal, instance: string): ResumeRequest {
  const { account, lineage, attempt, retries, flowControl } = proposal;
  const labels: NonEmpty<string> = [formatStamp({ instance, lineage, attempt }), ...proposal.labels];
  // The entry's own flow control stays: its owner chose that limit for the destination.
  const lacksFlowControl = proposal.flowControlKey === undefined;
  return {
    operation: 'resume-workflow-dlq',
    account,
    dlqIds: [proposal.dlqId],
    overrides: {
      labels,
      ...(retries !== undefined && { retries }),
      ...(flowControl !== undefined && lacksFlowControl && { flowControl }),
    },
  };
}

/** The id does not contain the instance: a second daemon by mistake publishes nothing either. */
function describeRepublish(proposal: RepublishProposal, instance: string): RepublishRequest {
  const { account, dlqId, lineage, attempt, retries, labels, edit } = proposal;
  const id = hash('sha256', JSON.stringify([account, dlqId, attempt, edit?.sha256]), 'hex');
  return {
    operation: 'publish',
    account,
    dlqIds: [dlqId],
    labels: [formatStamp({ instance, lineage, attempt }), ...labels],
    retries,
    ...(edit && { edit }),
    deduplicationId: `opsd-${id.slice(0, 40)}`,
  };
}

/**
 * One page of old messages by filters. The service cannot list what is deleted. So each request has an upper bound in
 * time and in number, and is sent once: a second request deletes the next page.
 */
function describePrune({ account, filter, items }: PruneProposal): PruneRequest {
  // Only defined members: the client rejects a member with the value undefined.
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return {
    operation: 'delete-dlq',
    account,
    filter: { ...Object.fromEntries(given), toDate: filter.toDate, count: items } satisfies DlqFilter,
  };
}

/** Facts about an account that a request needs. */
export interface ActionPlace {
  readonly accountId?: string;
  /** Returns the kept message of a dead letter, or why there is none. */
  readonly bodies?: (
    account: string,
    dlqId: string,
  ) => Promise<{ readonly kept: CarriedMessage } | { readonly reason: string }>;
  readonly failureCallback?: () => FailureCallback;
}

/**
 * Sends a request once.
 *
 * @param place.accountId id of the account in the management API
 * @param place.bodies kept bodies of dead letters
 * @throws the client's errors
 */
export async function sendAction(
  request: ActionRequest,
  client: ServiceClient | undefined,
  { accountId, bodies, failureCallback }: ActionPlace,
): Promise<ActResult> {
  const { signal } = new AbortController();
  if (request.operation === 'update-budget') {
    if (client?.management === undefined) return refusedUnsent(`account ${request.account} has no management API`);
    if (accountId === undefined) return refusedUnsent(`account ${request.account} has no managementApi.accountId`);
    await client.management.updateBudget(accountId, request.dollars, { signal });
    return { outcome: 'accepted', done: 1 };
  }
  const api = client?.message;
  if (api === undefined) return refusedUnsent(`account ${request.account} has no message API`);
  switch (request.operation) {
    case 'resume-workflow-dlq': {
      const { runs } = await api.resumeWorkflowDlq(request.dlqIds, request.overrides, { signal });
      const [run, ...more] = runs;
      // A successful response without a run: the entry may be gone, or the response may be truncated. Only a read can
      // show it.
      if (run === undefined) return { outcome: 'unknown', detail: 'the response names no resumed run' };
      // With several runs, the entry's own is unknown.
      const newRunId = more.length > 0 ? undefined : run.workflowRunId;
      return { outcome: 'accepted', done: runs.length, newRunId };
    }
    case 'publish':
      return publishAgain(request, api, { bodies, failureCallback });
    // `done` is 0 if the entry was already gone.
    case 'delete-workflow-dlq': {
      const { deleted } = await api.deleteWorkflowDlq(request.dlqIds, { signal });
      return { outcome: 'accepted', done: deleted };
    }
    case 'delete-dlq': {
      const what = isPrune(request) ? request.filter : { dlqIds: request.dlqIds };
      const { deleted } = await api.deleteDlq(what, { signal });
      return { outcome: 'accepted', done: deleted };
    }
  }
}

async function publishAgain(
  request: RepublishRequest,
  api: MessageApi,
  { bodies, failureCallback }: ActionPlace,
): Promise<ActResult> {
  const { signal } = new AbortController();
  const { account, dlqIds, edit, labels, retries, deduplicationId } = request;
  const found = await bodies?.(account, edit === undefined ? dlqIds[0] : editOf(dlqIds[0]));
  if (found === undefined || 'reason' in found) return refusedUnsent(found?.reason ?? 'no bodies are kept');
  if (edit !== undefined && contentHash(found.kept) !== edit.sha256)
    return refusedUnsent('another edit of the message was made since the plan');
  const { url, forward } = failureCallback?.() ?? {};
  // The hook reads the labels of its own header, which carries the stamp.
  const told = url && { url, forward: { ...forward, 'Opsd-Label': labels.join(',') } };
  const again = { labels, retries, deduplicationId, ...(told && { failureCallback: told }) };
  const [message, ...more] = await api.publishAgain(found.kept, again, { signal });
  // One URL gives one message.
  if (message === undefined || more.length > 0) return { outcome: 'unknown', detail: 'the response names no message' };
  return { outcome: 'accepted', done: 1, newRunId: message.messageId };
}
