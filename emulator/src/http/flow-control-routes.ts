/** Reads the live state of a flow-control key. */
import { stateOf, type MessageContext } from './message-context.ts';
import { ApiError } from '../state/api-error.ts';
import type { ApiRequest, ApiResponse, Route } from './route.ts';

export function flowControlRoutes(context: MessageContext): readonly Route[] {
  return [
    {
      api: 'message',
      operation: 'get-flow-control',
      method: 'GET',
      pattern: '/v2/flowControl/:flowControlKey',
      handle: (request) => getFlowControl(context, request),
    },
  ];
}

function getFlowControl(context: MessageContext, request: ApiRequest): ApiResponse {
  const key = request.params['flowControlKey']!;
  const lane = stateOf(context, request).flow.get(key);
  if (lane === undefined) throw new ApiError(404, `no message has used the flow-control key ${key.slice(0, 200)}`);
  return { status: 200, json: { flowControlKey: key, ...lane.figures() } };
}
