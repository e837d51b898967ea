/** Deletes failed plain messages in bulk. The interface has no operation to list them. */
import { dlqOf, messageDlqFilter, selectForBulk } from './dead-letter-selection.ts';
import { queryOf, stateOf, type MessageContext } from './message-context.ts';
import { cursorField } from './query.ts';
import type { ApiRequest, ApiResponse, Route } from './route.ts';

export function dlqRoutes(context: MessageContext): readonly Route[] {
  return [
    {
      api: 'message',
      operation: 'delete-dlq',
      method: 'DELETE',
      pattern: '/v2/dlq',
      handle: (request) => deleteMessages(context, request),
    },
  ];
}

function deleteMessages(context: MessageContext, request: ApiRequest): ApiResponse {
  const queue = dlqOf(stateOf(context, request), 'dlq', context.clock.now());
  const query = queryOf(context, request, 'delete-dlq');
  const order = context.switches.dlqOrder;
  const window = { ...query.window(), order };
  const options = { listing: 'dlq', window, filter: messageDlqFilter(query), count: query.pageSize() } as const;
  const { deadLetters, cursor } = selectForBulk(queue, query, options);
  const deleted = deadLetters.filter((deadLetter) => queue.remove(deadLetter.dlqId)).length;
  return { status: 200, json: { ...cursorField(cursor, context.switches), deleted } };
}
