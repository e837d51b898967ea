/** Message API (interface 4.1): path, query, headers and response of each operation. */
import { LOG_STATES } from '#foundation/domain/log-entry.ts';
import type {
  CallOptions,
  DlqFilter,
  LogQuery,
  MessageApi,
  NonEmpty,
  Page,
  PublishRequest,
  ResumeOverrides,
  TriggerRequest,
  WorkflowDlqQuery,
} from './api.ts';
import { checkMembers, checkTexts, checkUrl, MAX_COUNT } from './arguments.ts';
import type { ApiConnection, Parsed } from './connection.ts';
import { publishHeaders, resumeHeaders, triggerHeaders } from './headers.ts';
import { parseAnything } from './parse/acknowledgement.ts';
import { parseFlowControl } from './parse/flow-control.ts';
import { parseLogPage } from './parse/log-entry.ts';
import { parsePublish } from './parse/publish-result.ts';
import type { Drops } from './parse/reader.ts';
import { parseUrlGroups } from './parse/url-group.ts';
import {
  parseDelete,
  parseResume,
  parseTrigger,
  parseWholeWorkflowDlqPage,
  parseWorkflowDlqPage,
} from './parse/workflow-dlq.ts';
import { destinationPath, pathSegment, shownDestination } from './path.ts';
import { buildQuery, count, filterQuery, id, oneOf, statuses, text, texts, time, type QueryTable } from './query.ts';
import { InvalidRequestError } from './service-error.ts';
import { checkEndpoints } from './value-kinds.ts';
import type { WireNames } from './wire-names.ts';

const LOG_QUERY: QueryTable & Record<keyof LogQuery, unknown> = {
  cursor: text,
  messageId: id,
  state: oneOf(LOG_STATES),
  url: text,
  topicName: text,
  scheduleId: text,
  queueName: text,
  fromDate: time,
  toDate: time,
  count,
  label: texts,
};

const WORKFLOW_DLQ_QUERY: QueryTable & Record<keyof WorkflowDlqQuery, unknown> = {
  cursor: text,
  count,
  fromDate: time,
  toDate: time,
  workflowUrl: texts,
  workflowRunId: id,
  workflowCreatedAt: time,
  label: texts,
  failureFunctionState: texts,
  callerIp: texts,
  flowControlKey: texts,
};

const DLQ_QUERY: QueryTable & Record<keyof DlqFilter, unknown> = {
  toDate: time,
  count,
  cursor: text,
  messageId: id,
  url: texts,
  topicName: texts,
  scheduleId: texts,
  queueName: texts,
  fromDate: time,
  responseStatus: statuses,
  callerIp: texts,
  label: texts,
  flowControlKey: texts,
};

const JSON_TYPE = { 'content-type': 'application/json' };

export function createMessageApi(connection: ApiConnection, names: WireNames): MessageApi {
  return {
    async addEndpoints(urlGroup, endpoints, { signal }) {
      const operation = 'add-endpoints';
      const path = `/v2/topics/${pathSegment(operation, 'urlGroup', urlGroup)}/endpoints`;
      const body = JSON.stringify({ endpoints: checkEndpoints(operation, 'endpoints', endpoints) });
      await connection.write(
        { operation, method: 'POST', path, headers: JSON_TYPE, body, parse: parseAnything },
        signal,
      );
    },

    async listUrlGroups({ signal }) {
      return connection.read({ operation: 'list-url-groups', path: '/v2/topics', parse: parseUrlGroups }, signal);
    },

    async listLogs(query, { signal }) {
      const operation = 'list-logs';
      const path = `/v2/logs${filterQuery(operation, query, LOG_QUERY)}`;
      const parse = (body: Buffer, drops: Drops) => parseLogPage(body, drops, names);
      const parsed = await connection.read({ operation, path, parse }, signal);
      return { ...pageOf(parsed), invalid: parsed.value.invalid };
    },

    publish: (destination, request, call) => publish(connection, names, { destination, request, call }),
    trigger: (workflowUrl, request, call) => trigger(connection, names, { workflowUrl, request, call }),

    async listWorkflowDlq(query, { signal }) {
      const operation = 'list-workflow-dlq';
      const path = `/v2/workflows/dlq${filterQuery(operation, query, WORKFLOW_DLQ_QUERY)}`;
      const parse = (body: Buffer, drops: Drops) => parseWorkflowDlqPage(body, drops, names);
      return pageOf(await connection.read({ operation, path, parse }, signal));
    },

    async listWholeWorkflowDlq(query, { signal }) {
      const operation = 'list-workflow-dlq';
      const path = `/v2/workflows/dlq${filterQuery(operation, query, WORKFLOW_DLQ_QUERY)}`;
      const parse = (body: Buffer, drops: Drops) => parseWholeWorkflowDlqPage(body, drops, names);
      return pageOf(await connection.read({ operation, path, parse }, signal));
    },

    async resumeWorkflowDlq(dlqIds, overrides: ResumeOverrides, { signal }) {
      const operation = 'resume-workflow-dlq';
      const path = `/v2/workflows/dlq/resume${idsQuery(operation, dlqIds)}`;
      const headers = resumeHeaders(operation, names, overrides);
      return (await connection.write({ operation, method: 'POST', path, headers, parse: parseResume }, signal)).value;
    },

    async deleteWorkflowDlq(dlqIds, { signal }) {
      const operation = 'delete-workflow-dlq';
      const path = `/v2/workflows/dlq${idsQuery(operation, dlqIds)}`;
      const { value } = await connection.write({ operation, method: 'DELETE', path, parse: parseDelete }, signal);
      return { deleted: value.deleted };
    },

    async deleteDlq(selection, { signal }) {
      const operation = 'delete-dlq';
      const path = `/v2/dlq${dlqSelection(operation, selection)}`;
      return (await connection.write({ operation, method: 'DELETE', path, parse: parseDelete }, signal)).value;
    },

    async getFlowControl(flowControlKey, { signal }) {
      const operation = 'get-flow-control';
      const path = `/v2/flowControl/${pathSegment(operation, 'flowControlKey', flowControlKey)}`;
      return connection.read({ operation, path, parse: parseFlowControl }, signal);
    },
  };
}

async function publish(
  connection: ApiConnection,
  names: WireNames,
  ask: { readonly destination: string; readonly request: PublishRequest; readonly call: CallOptions },
): ReturnType<MessageApi['publish']> {
  const operation = 'publish';
  const { destination, request } = ask;
  const { queue } = request;
  const way = queue === undefined ? 'publish' : `enqueue/${pathSegment(operation, 'queue', queue)}`;
  const path = `/v2/${way}/${destinationPath(operation, destination)}`;
  const answer = await connection.write(
    {
      operation,
      method: 'POST',
      path,
      shownPath: `/v2/${way}/${shownDestination(destination)}`,
      headers: publishHeaders(operation, names, request),
      ...bodyOf(operation, request.body),
      hidden: payloadOf(destination, request),
      parse: parsePublish,
    },
    ask.call.signal,
  );
  return answer.value;
}

async function trigger(
  connection: ApiConnection,
  names: WireNames,
  ask: { readonly workflowUrl: string; readonly request: TriggerRequest; readonly call: CallOptions },
): ReturnType<MessageApi['trigger']> {
  const operation = 'trigger';
  const { workflowUrl, request } = ask;
  const path = `/v2/trigger/${checkUrl(operation, 'workflowUrl', workflowUrl)}`;
  const answer = await connection.write(
    {
      operation,
      method: 'POST',
      path,
      shownPath: `/v2/trigger/${shownDestination(workflowUrl)}`,
      headers: triggerHeaders(operation, names, request),
      ...bodyOf(operation, request.body),
      hidden: payloadOf(workflowUrl, request),
      parse: parseTrigger,
    },
    ask.call.signal,
  );
  return answer.value;
}

function bodyOf(operation: string, body: unknown): { readonly body?: string | Uint8Array } {
  if (body === undefined) return {};
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new InvalidRequestError(operation, 'body must be text or bytes');
  }
  return { body };
}

/** Returns the content of a message, which must not appear in an error text. */
function payloadOf(destination: string, request: PublishRequest | TriggerRequest): readonly string[] {
  const url = URL.parse(destination);
  const callbacks = [request.failureCallback, 'callback' in request ? request.callback : undefined];
  const forwarded = [request.forwardHeaders, ...callbacks.map((callback) => callback?.forwardHeaders)];
  return [
    ...(typeof request.body === 'string' ? [request.body] : []),
    ...forwarded.flatMap((headers) => Object.values(headers ?? {})),
    ...(url === null ? [] : [url.search, url.password]),
  ];
}

/** Returns the query with the ids of one bulk call: at least one, since none would mean all, and at most one page. */
function idsQuery(operation: string, dlqIds: NonEmpty<string>): string {
  return buildQuery(operation, [['dlqIds', checkTexts(operation, 'dlqIds', dlqIds, MAX_COUNT)]]);
}

function dlqSelection(operation: string, selection: { readonly dlqIds: NonEmpty<string> } | DlqFilter): string {
  if ('dlqIds' in selection) {
    // With ids, the service ignores filters. A caller that passes both is mistaken about the deletion.
    checkMembers(operation, selection, ['dlqIds']);
    return idsQuery(operation, selection.dlqIds);
  }
  for (const needed of ['toDate', 'count'] as const) {
    if (selection[needed] === undefined) {
      throw new InvalidRequestError(
        operation,
        `without dlqIds, ${needed} is required, because no one inspects the entries before their deletion`,
      );
    }
  }
  return filterQuery(operation, selection, DLQ_QUERY);
}

function pageOf<T>(parsed: Parsed<{ readonly rows: readonly T[]; readonly cursor?: string }>): Page<T> {
  const { value, ...rest } = parsed;
  return { ...rest, value: value.rows, ...(value.cursor !== undefined && { cursor: value.cursor }) };
}
