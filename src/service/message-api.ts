/** Message API (interface 4.1): request and response of each operation that the daemon sends by itself. */
import type { FlowControlSpec } from '#foundation/domain/flow-control.ts';
import type { Answer, DlqFilter, MessageApi, NonEmpty, Page, ResumeOverrides } from './api.ts';
import { checkInteger, checkMembers } from './arguments.ts';
import type { ApiConnection } from './connection.ts';
import { parseFlowControl } from './parse/flow-control.ts';
import { parseLogPage } from './parse/log-entry.ts';
import type { RawPage } from './parse/page.ts';
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
import { pathSegment } from './path.ts';
import { publishAgainRequest } from './publish-again.ts';
import { callRequest, type OperationRequest } from './request.ts';
import { InvalidRequestError } from './service-error.ts';
import type { WireNames } from './wire-names.ts';

export function createMessageApi(connection: ApiConnection, names: WireNames): MessageApi {
  const request = (name: string, given: object): OperationRequest => callRequest(name, given, names);

  return {
    async listUrlGroups({ signal }) {
      return connection.read({ ...request('list-url-groups', {}), parse: parseUrlGroups }, signal);
    },

    async listLogs(query, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseLogPage(body, drops, names);
      const parsed = await connection.read({ ...request('list-logs', query), parse }, signal);
      return { ...pageOf(parsed), invalid: parsed.value.invalid };
    },

    async publish({ queue, flowControl, ...given }, { signal }) {
      const asked = request('publish', { ...given, ...(flowControl && flowValues('publish', flowControl)) });
      const call = { ...(queue === undefined ? asked : enqueued(asked, queue)), parse: parsePublish };
      return (await connection.write(call, signal)).value;
    },

    async publishAgain(message, again, { signal }) {
      const secrets = connection.secrets();
      const isOwn = (text: string): boolean => secrets.some((secret) => text.includes(secret));
      const call = { ...publishAgainRequest(message, again, { names, isOwn }), parse: parsePublish };
      return (await connection.write(call, signal)).value;
    },

    async trigger(given, { signal }) {
      return (await connection.write({ ...request('trigger', given), parse: parseTrigger }, signal)).value;
    },

    async listWorkflowDlq(query, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseWorkflowDlqPage(body, drops, names);
      return pageOf(await connection.read({ ...request('list-workflow-dlq', query), parse }, signal));
    },

    async listWholeWorkflowDlq(query, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseWholeWorkflowDlqPage(body, drops, names);
      return pageOf(await connection.read({ ...request('list-workflow-dlq', query), parse }, signal));
    },

    async resumeWorkflowDlq(dlqIds, overrides, { signal }) {
      const asked = request('resume-workflow-dlq', { dlqIds, ...overrideValues(overrides) });
      return (await connection.write({ ...asked, parse: parseResume }, signal)).value;
    },

    async deleteWorkflowDlq(dlqIds, { signal }) {
      const asked = request('delete-workflow-dlq', { dlqIds });
      const { value } = await connection.write({ ...asked, parse: parseDelete }, signal);
      return { deleted: value.deleted };
    },

    async deleteDlq(selection, { signal }) {
      checkDeletion(selection);
      return (await connection.write({ ...request('delete-dlq', selection), parse: parseDelete }, signal)).value;
    },

    async getFlowControl(flowControlKey, { signal }) {
      return connection.read({ ...request('get-flow-control', { flowControlKey }), parse: parseFlowControl }, signal);
    },
  };
}

/** Returns the request that adds the message to a queue, which the interface has without an operation of its own. */
function enqueued(request: OperationRequest, queue: string): OperationRequest {
  const way = `/v2/enqueue/${pathSegment(request.operation, 'queue', queue)}/`;
  const changed = (path: string): string => path.replace('/v2/publish/', () => way);
  return { ...request, path: changed(request.path), shownPath: changed(request.shownPath) };
}

function overrideValues({ labels, flowControl, ...rest }: ResumeOverrides): object {
  return {
    ...rest,
    ...(labels && { overrideLabel: labels }),
    ...(flowControl && flowValues('resume-workflow-dlq', flowControl)),
  };
}

const LIMIT = { min: 1, max: Number.MAX_SAFE_INTEGER };
/** Members of the key of flow control. In a resume, the name of the header is a filter as well. */
const FLOW_KEYS = { publish: 'flowControlKey', 'resume-workflow-dlq': 'overrideFlowControlKey' } as const;

/** Returns the limits of a flow-control key as values of an operation. Each message with the key sets them. */
function flowValues(operation: keyof typeof FLOW_KEYS, flow: FlowControlSpec): object {
  checkMembers(operation, flow, ['key', 'parallelism', 'rate', 'period']);
  const { key, ...limits } = flow;
  if (limits.period !== undefined && limits.rate === undefined) {
    throw new InvalidRequestError(operation, 'flowControl.period needs a rate');
  }
  const value = Object.entries(limits).map(
    ([name, limit]) => `${name}=${checkInteger(operation, `flowControl.${name}`, limit, LIMIT)}`,
  );
  return { [FLOW_KEYS[operation]]: key, flowControlValue: value.join(', ') };
}

/** Checks what a deletion acts on. No operator inspects the entries of a filter before their deletion. */
function checkDeletion(selection: { readonly dlqIds: NonEmpty<string> } | DlqFilter): void {
  const operation = 'delete-dlq';
  if ('dlqIds' in selection) {
    // With ids, the service ignores filters. A caller that passes both is mistaken about the deletion.
    checkMembers(operation, selection, ['dlqIds']);
    return;
  }
  for (const needed of ['toDate', 'count'] as const) {
    if (selection[needed] === undefined) {
      throw new InvalidRequestError(
        operation,
        `without dlqIds, ${needed} is required, because no one inspects the entries before their deletion`,
      );
    }
  }
}

function pageOf<T>(parsed: Answer<Omit<RawPage, 'page'> & { readonly rows: readonly T[] }>): Page<T> {
  const { value, ...rest } = parsed;
  return { ...rest, value: value.rows, cursor: value.cursor, bytes: value.bytes };
}
