/** The message API of the embedded service: every operation of the interface's section 4.1. */
import { dlqRoutes } from './dlq-routes.ts';
import { flowControlRoutes } from './flow-control-routes.ts';
import { logRoutes } from './log-routes.ts';
import type { MessageContext } from './message-context.ts';
import { publishRoutes } from './publish-routes.ts';
import type { Route } from './route.ts';
import { urlGroupRoutes } from './url-group-routes.ts';
import { workflowDlqRoutes } from './workflow-dlq-routes.ts';

export function messageRoutes(context: MessageContext): readonly Route[] {
  return [
    ...urlGroupRoutes(context),
    ...logRoutes(context),
    ...publishRoutes(context),
    ...workflowDlqRoutes(context),
    ...dlqRoutes(context),
    ...flowControlRoutes(context),
  ];
}
