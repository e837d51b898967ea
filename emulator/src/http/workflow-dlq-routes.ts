/** Lists, resumes and deletes failed workflow runs. */
import { dlqOf, selectForBulk, selectPage, workflowDlqFilter } from './dead-letter-selection.ts';
import { readDelay, readFlowControl, readRetries } from './delivery-request.ts';
import { randomId } from '../state/ids.ts';
import { queryOf, requireReachable, serviceHeadersOf, stateOf, type MessageContext } from './message-context.ts';
import { workflowDeadLetterJson } from './message-json.ts';
import type { DeadMessage, Delivery } from '../state/message.ts';
import { cursorField, type Query } from './query.ts';
import type { ReceivedRequest, ApiResponse } from './route.ts';
import type { ServiceHeaders } from './service-headers.ts';

export function listRuns(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const queue = dlqOf(stateOf(context, request), 'workflowDlq', context.clock.now());
  const query = queryOf(context, request, 'list-workflow-dlq');
  const order = context.switches.dlqOrder;
  const filter = workflowDlqFilter(query);
  const window = { ...query.window(), order, after: query.cursor('run') };
  const options = { listing: 'run', window, filter, count: query.pageSize() } as const;
  query.finish();
  const { deadLetters, cursor } = selectPage(queue, options);
  return {
    status: 200,
    json: {
      ...cursorField(cursor, context.switches),
      messages: deadLetters.map((deadLetter) => workflowDeadLetterJson(deadLetter, context)),
    },
  };
}

export function resumeRuns(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const queue = dlqOf(stateOf(context, request), 'workflowDlq', context.clock.now());
  const query = queryOf(context, request, 'resume-workflow-dlq');
  const overrides = readOverrides(context, serviceHeadersOf(context, request, 'resume-workflow-dlq'), request);
  const { deadLetters, cursor } = selectForBulk(queue, query, bulkOf(context, query));
  context.admission.accept(request.account, deadLetters.length);
  const workflowRuns = deadLetters.map((deadLetter) => {
    queue.remove(deadLetter.dlqId);
    return resumeRun(context, deadLetter, overrides);
  });
  // The interface prescribes an empty cursor at the end here, in every installation.
  return { status: 200, json: { workflowRuns, cursor: cursor ?? '' } };
}

/** Parses the selection of a resume or a delete. */
function bulkOf(context: MessageContext, query: Query) {
  const window = { ...query.window(), order: context.switches.dlqOrder };
  return { listing: 'run', window, filter: workflowDlqFilter(query), count: query.atMost() ?? Infinity } as const;
}

interface Overrides {
  readonly change: (delivery: Delivery) => Delivery;
  readonly delayMs: number;
}

function readOverrides(context: MessageContext, headers: ServiceHeaders, request: ReceivedRequest): Overrides {
  const limits = context.limitsOf(request.account);
  const retries = readRetries(headers, 'Retries', limits);
  const retryDelay = headers.expression('Retry-Delay');
  const delayMs = readDelay(headers, 'Delay', limits) ?? 0;
  const flowControl = readFlowControl(headers);
  const labels = headers.list('Label');
  const failureUrl = headers.httpUrl('Failure-Callback');
  headers.finish();
  requireReachable(context, [failureUrl]);
  const adds = context.switches.labelOverride === 'adds';
  return {
    delayMs,
    change: (delivery) => ({
      ...delivery,
      timeoutMs: limits.timeoutMs,
      ...(retries !== undefined && { maxRetries: retries }),
      ...(retryDelay !== undefined && { retryDelay }),
      ...(flowControl !== undefined && { flowControl }),
      ...(labels.length > 0 && { labels: adds ? [...new Set([...delivery.labels, ...labels])] : labels }),
      ...(failureUrl !== undefined && {
        failureCallback: { ...delivery.failureCallback, url: failureUrl, headers: [], method: 'POST', delayMs: 0 },
      }),
    }),
  };
}

/** Delivers the whole run again: the interface shows no steps. */
function resumeRun(context: MessageContext, deadLetter: DeadMessage, overrides: Overrides): object {
  const { message } = deadLetter;
  const now = context.clock.now();
  const isNew = context.switches.resumeRunIds === 'renew';
  const run = isNew ? { runId: randomId('wfr_', context.random), createdAt: now } : message.workflow!;
  context.engine.submit(message.accountId, {
    url: message.url,
    delivery: overrides.change(message.delivery),
    notBefore: now + overrides.delayMs,
    workflow: { ...run, isNew },
  });
  return { workflowRunId: run.runId, workflowCreatedAt: run.createdAt };
}

export function deleteRuns(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const queue = dlqOf(stateOf(context, request), 'workflowDlq', context.clock.now());
  const query = queryOf(context, request, 'delete-workflow-dlq');
  const { deadLetters, cursor, byIds } = selectForBulk(queue, query, bulkOf(context, query));
  const deleted = deadLetters.filter((deadLetter) => queue.remove(deadLetter.dlqId)).length;
  return { status: 200, json: { deleted, ...(byIds ? {} : cursorField(cursor, context.switches)) } };
}
