/** Publishes messages to a URL or a URL Group, and triggers workflow runs. */
import { createHash } from 'node:crypto';
import type { AccountState } from '../state/account-state.ts';
import type { PublishedMessage } from '../state/deduplication.ts';
import {
  readCallback,
  readFlowControl,
  readNotBefore,
  readRedaction,
  readRetries,
  readTimeout,
  WORKFLOW_RETRIES,
} from './delivery-request.ts';
import { randomId } from '../state/ids.ts';
import { requireReachable, serviceHeadersOf, stateOf, type MessageContext } from './message-context.ts';
import type { Delivery, HeaderPair } from '../state/message.ts';
import { ApiError } from '../state/api-error.ts';
import type { ReceivedRequest, ApiResponse } from './route.ts';
import { isHttpUrl, type ServiceHeaders } from './service-headers.ts';
import { withContentType } from '../delivery/wire-names.ts';

/** A destination of a publish: one URL, or one endpoint of a group. */
interface Target {
  readonly url: string;
  readonly topicName?: string;
  readonly endpointName?: string;
}

export function publish(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const state = stateOf(context, request);
  const headers = serviceHeadersOf(context, request, 'publish');
  const destination = request.params['destination']!;
  const { targets, isGroup } = targetsOf(state, destination);
  const now = context.clock.now();
  const limits = context.limitsOf(request.account);
  const flowControl = readFlowControl(headers);
  const retryDelay = headers.expression('Retry-Delay');
  const callback = readCallback(headers, 'Callback', limits);
  const failureCallback = readCallback(headers, 'Failure-Callback', limits);
  const redaction = readRedaction(headers);
  const delivery: Delivery = {
    method: headers.method('Method') ?? 'POST',
    body: keptBody(request),
    headers: deliveredHeaders(request, headers),
    timeoutMs: readTimeout(headers, 'Timeout', limits),
    maxRetries: readRetries(headers, 'Retries', limits) ?? limits.defaultRetries,
    ...(retryDelay !== undefined && { retryDelay }),
    labels: headers.list('Label'),
    ...(flowControl !== undefined && { flowControl }),
    ...(callback !== undefined && { callback }),
    ...(failureCallback !== undefined && { failureCallback }),
    ...(redaction !== undefined && { redaction }),
    callerIp: request.callerIp,
  };
  const notBefore = readNotBefore(headers, now, limits);
  const deduplicationId = deduplicationIdOf(headers, request.body);
  headers.finish();
  requireReachable(context, [...targets.map(({ url }) => url), callback?.url, failureCallback?.url]);

  const known = deduplicationId === undefined ? undefined : state.deduplication.find(deduplicationId, now);
  if (known !== undefined) {
    return {
      status: context.switches.duplicateStatus,
      json: resultJson(context, known, { isGroup, deduplicated: true }),
    };
  }
  context.admission.accept(request.account, targets.length);
  const origin = context.origins.take(state.accountId);
  const messages = targets.map((target) => {
    const { id, url } = context.engine.submit(state.accountId, { ...target, ...origin, delivery, notBefore });
    return { messageId: id, url };
  });
  if (deduplicationId !== undefined) state.deduplication.remember(deduplicationId, messages, now);
  return { status: 200, json: resultJson(context, messages, { isGroup, deduplicated: false }) };
}

function targetsOf(
  state: AccountState,
  destination: string,
): { readonly targets: readonly Target[]; readonly isGroup: boolean } {
  const whole = /^https?%3a/i.test(destination) ? decode(destination) : destination;
  if (/^https?:/i.test(whole)) {
    if (!isHttpUrl(whole))
      throw new ApiError(400, `the destination is not a URL that can be reached: ${whole.slice(0, 200)}`);
    return { targets: [{ url: whole }], isGroup: false };
  }
  const name = decode(whole.split('?', 1)[0]!);
  if (name === '') throw new ApiError(400, 'a destination is needed: a URL, or the name of a URL Group');
  if (name.includes('://')) throw new ApiError(400, 'a destination URL must begin with http:// or https://');
  const group = state.urlGroups.get(name);
  if (group === undefined) throw new ApiError(404, `there is no URL Group named ${name.slice(0, 200)}`);
  const targets = group.endpoints.map((endpoint) => ({
    url: endpoint.url,
    topicName: name,
    ...(endpoint.name !== undefined && { endpointName: endpoint.name }),
  }));
  return { targets, isGroup: true };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError(400, `the destination is not correctly percent-encoded: ${text.slice(0, 200)}`);
  }
}

function deduplicationIdOf(headers: ServiceHeaders, body: Uint8Array): string | undefined {
  const given = headers.text('Deduplication-Id');
  const byContent = headers.boolean('Content-Based-Deduplication');
  if (given !== undefined) return given;
  return byContent ? createHash('sha256').update(body).digest('hex') : undefined;
}

function deliveredHeaders(request: ReceivedRequest, headers: ServiceHeaders): readonly HeaderPair[] {
  const forwarded = headers.forwarded('Forward');
  const contentType = request.headers['content-type'];
  return contentType === undefined ? forwarded : withContentType(contentType, forwarded);
}

/** Copies the body: a slice of Node's buffer pool would hold other data in memory, however long the message waits. */
function keptBody({ body }: ReceivedRequest): Uint8Array {
  return new Uint8Array(body);
}

function resultJson(
  context: MessageContext,
  messages: readonly PublishedMessage[],
  options: { readonly isGroup: boolean; readonly deduplicated: boolean },
): object {
  const { isGroup, deduplicated } = options;
  if (!isGroup) return { messageId: messages[0]!.messageId, deduplicated };
  const results = messages.map(({ messageId, url }) => ({ messageId, url, deduplicated }));
  return context.switches.groupPublish === 'object' ? { messages: results } : results;
}

export function trigger(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const state = stateOf(context, request);
  const headers = serviceHeadersOf(context, request, 'trigger');
  const workflowUrl = request.params['workflowUrl']!;
  const url = /^https?%3a/i.test(workflowUrl) ? decode(workflowUrl) : workflowUrl;
  if (!isHttpUrl(url)) {
    throw new ApiError(
      400,
      `workflowUrl: a workflow is a URL that begins with http:// or https://, not ${url.slice(0, 200)}`,
    );
  }
  const now = context.clock.now();
  const limits = context.limitsOf(request.account);
  const flowControl = readFlowControl(headers);
  const retryDelay = headers.expression('Retry-Delay');
  const failureUrl = headers.httpUrl('Failure-Callback');
  const failureHeaders = headers.forwarded('Failure-Callback-Forward');
  if (failureUrl === undefined && failureHeaders.length > 0) {
    throw new ApiError(
      400,
      `${headers.called('Failure-Callback-Forward-…')} needs ${headers.called('Failure-Callback')}`,
    );
  }
  const delivery: Delivery = {
    method: 'POST',
    body: keptBody(request),
    headers: deliveredHeaders(request, headers),
    timeoutMs: limits.timeoutMs,
    maxRetries: readRetries(headers, 'Retries', limits) ?? WORKFLOW_RETRIES,
    ...(retryDelay !== undefined && { retryDelay }),
    labels: headers.list('Label'),
    ...(flowControl !== undefined && { flowControl }),
    ...(failureUrl !== undefined && {
      failureCallback: { url: failureUrl, headers: failureHeaders, method: 'POST', delayMs: 0 },
    }),
    callerIp: request.callerIp,
  };
  const notBefore = readNotBefore(headers, now, limits);
  const runId = headers.text('Workflow-RunId') ?? randomId('wfr_', context.random);
  headers.finish();
  requireReachable(context, [url, failureUrl]);
  context.admission.accept(request.account, 1);
  const workflow = { runId, createdAt: now, isNew: true };
  const origin = context.origins.take(state.accountId);
  context.engine.submit(state.accountId, { url, ...origin, delivery, notBefore, workflow });
  return { status: 200, json: { workflowRunId: runId, workflowCreatedAt: now } };
}
