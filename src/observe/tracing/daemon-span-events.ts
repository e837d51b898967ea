/** Makes spans from the daemon's events: its requests, its actions, and the results of policy runs. */
import type { Span, SpanOptions } from '@opentelemetry/api';
import { redact } from '#foundation/domain/redact.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import * as semconv from './semconv.ts';
import { serverOf } from './span.ts';
import { spanIdOf, workflowTraceIdOf } from './trace-ids.ts';

export interface SpanEventDeps {
  readonly api: typeof import('@opentelemetry/api');
  readonly clock: Clock;
  /** Starts a span within the current one; undefined if the queue is full. */
  readonly begin: (name: string, options: SpanOptions) => Span | undefined;
  /** Returns the start in epoch milliseconds; undefined for a span that did not start here. */
  readonly beganAt: (span: Span) => number | undefined;
}

export function spansOfEvents(deps: SpanEventDeps): (event: OpsEvent) => void {
  return (event) => {
    if (event.type === 'policy.run') onRun(deps, event);
    if (event.type === 'api.request') onRequest(deps, event);
    if (event.type === 'action.outcome') onAction(deps, event);
  };
}

/** Returns the times of a span that ends now. It does not start before its parent, even if the clock was set back. */
function timesOf(
  { api, clock, beganAt }: SpanEventDeps,
  durationMs: number,
): { readonly startMs: number; readonly endMs: number } {
  const parent = api.trace.getActiveSpan();
  const earliest = (parent && beganAt(parent)) ?? -Infinity;
  const now = clock.now();
  const startMs = Math.max(now - durationMs, earliest);
  return { startMs, endMs: Math.max(now, startMs) };
}

function onRequest(deps: SpanEventDeps, event: Extract<OpsEvent, { type: 'api.request' }>): void {
  const { api, begin } = deps;
  // A request without a current span was made for an operator and belongs to no undertaking.
  if (api.trace.getActiveSpan() === undefined) return;
  const { account, operation, method, url, code, failure, durationMs } = event;
  const { startMs, endMs } = timesOf(deps, durationMs);
  const span = begin(operation, { kind: api.SpanKind.CLIENT, startTime: new Date(startMs) });
  const { host, port } = serverOf(url);
  span?.setAttributes({
    [semconv.ATTR_MSGSVC_ACCOUNT]: account,
    [semconv.ATTR_HTTP_REQUEST_METHOD]: method,
    [semconv.ATTR_URL_FULL]: redact(url),
    ...(host !== undefined && { [semconv.ATTR_SERVER_ADDRESS]: host }),
    ...(port !== undefined && { [semconv.ATTR_SERVER_PORT]: port }),
  });
  if (typeof code === 'number') span?.setAttribute(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE, code);
  if (failure !== undefined) {
    span?.setAttribute(semconv.ATTR_ERROR_TYPE, typeof code === 'number' && code >= 400 ? String(code) : failure);
    span?.setStatus({ code: api.SpanStatusCode.ERROR });
  }
  span?.end(new Date(endMs));
}

function onAction(deps: SpanEventDeps, event: Extract<OpsEvent, { type: 'action.outcome' }>): void {
  const { api, begin } = deps;
  // An event without a duration reports the later fate of an earlier action.
  if (event.durationMs === 0) return;
  const { account, action, policy, target, workflowRunId, outcome, durationMs } = event;
  const { startMs, endMs } = timesOf(deps, durationMs);
  const links =
    workflowRunId === undefined
      ? []
      : [
          {
            context: {
              traceId: workflowTraceIdOf(account, workflowRunId),
              spanId: spanIdOf(account, workflowRunId, 'run'),
              traceFlags: api.TraceFlags.SAMPLED,
              isRemote: true,
            },
          },
        ];
  // The run links to all entries that it acted on, up to the limit of links.
  if (links.length > 0) api.trace.getActiveSpan()?.addLinks(links);
  const span = begin(`action ${action}`, { links, startTime: new Date(startMs) });
  span?.setAttributes({
    [semconv.ATTR_MSGSVC_ACCOUNT]: account,
    'opsd.policy': policy,
    'opsd.target': redact(target),
    'opsd.outcome': outcome,
  });
  if (outcome !== 'accepted') {
    span?.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
    span?.setStatus({ code: api.SpanStatusCode.ERROR });
  }
  span?.end(new Date(endMs));
}

/** Sets the result of a run on its span. */
function onRun({ api }: SpanEventDeps, event: Extract<OpsEvent, { type: 'policy.run' }>): void {
  const span = api.trace.getActiveSpan();
  const { account, outcome, planId, matched, acted, backlog, stopped, error } = event;
  span?.setAttributes({
    [semconv.ATTR_MSGSVC_ACCOUNT]: account,
    'opsd.outcome': outcome,
    ...(matched !== undefined && { 'opsd.matched': matched }),
    'opsd.acted': acted,
    ...(backlog !== undefined && { 'opsd.backlog': backlog }),
    ...(planId !== undefined && { 'opsd.plan': planId }),
    ...(stopped !== undefined && { 'opsd.guard': stopped.guard }),
  });
  if (error === undefined) return;
  span?.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
  span?.setStatus({ code: api.SpanStatusCode.ERROR });
}
