/** The message API of the embedded service: every operation of the interface's section 4.1. */
import { ApiError } from '../state/api-error.ts';
import { dlqOf, messageDlqFilter, selectForBulk } from './dead-letter-selection.ts';
import { listLogs } from './log-routes.ts';
import { queryOf, stateOf, type MessageContext } from './message-context.ts';
import { publish, trigger } from './publish-routes.ts';
import { cursorField } from './query.ts';
import type { ReceivedRequest, ApiResponse, Route } from './route.ts';
import { addEndpoints, listGroups } from './url-group-routes.ts';
import { deleteRuns, listRuns, resumeRuns } from './workflow-dlq-routes.ts';

type Handle = (context: MessageContext, request: ReceivedRequest) => ApiResponse;

export function messageRoutes(context: MessageContext): readonly Route[] {
  const route = (operation: string, method: Route['method'], pattern: string, handle: Handle): Route => ({
    api: 'message',
    operation,
    method,
    pattern,
    handle: (request) => handle(context, request),
  });
  return [
    route('add-endpoints', 'POST', '/v2/topics/:urlGroupName/endpoints', addEndpoints),
    route('list-url-groups', 'GET', '/v2/topics', listGroups),
    route('list-logs', 'GET', '/v2/logs', listLogs),
    route('publish', 'POST', '/v2/publish/*destination', publish),
    route('trigger', 'POST', '/v2/trigger/*workflowUrl', trigger),
    route('list-workflow-dlq', 'GET', '/v2/workflows/dlq', listRuns),
    route('resume-workflow-dlq', 'POST', '/v2/workflows/dlq/resume', resumeRuns),
    route('delete-workflow-dlq', 'DELETE', '/v2/workflows/dlq', deleteRuns),
    route('delete-dlq', 'DELETE', '/v2/dlq', deleteMessages),
    route('get-flow-control', 'GET', '/v2/flowControl/:flowControlKey', getFlowControl),
  ];
}

/** Deletes failed plain messages in bulk. The interface has no operation to list them. */
function deleteMessages(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const queue = dlqOf(stateOf(context, request), 'dlq', context.clock.now());
  const query = queryOf(context, request, 'delete-dlq');
  const order = context.switches.dlqOrder;
  const window = { ...query.window(), order };
  const options = { listing: 'dlq', window, filter: messageDlqFilter(query), count: query.pageSize() } as const;
  const { deadLetters, cursor } = selectForBulk(queue, query, options);
  const deleted = deadLetters.filter((deadLetter) => queue.remove(deadLetter.dlqId)).length;
  return { status: 200, json: { ...cursorField(cursor, context.switches), deleted } };
}

/** Reads the live state of a flow-control key. */
function getFlowControl(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const key = request.params['flowControlKey']!;
  const lane = stateOf(context, request).flow.get(key);
  if (lane === undefined) throw new ApiError(404, `no message has used the flow-control key ${key.slice(0, 200)}`);
  return { status: 200, json: { flowControlKey: key, ...lane.figures() } };
}
