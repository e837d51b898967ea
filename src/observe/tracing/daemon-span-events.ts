/** The spans of what the daemon reports in events: its requests and its actions, and what a policy run came to. */
import type { Span, SpanOptions } from '@opentelemetry/api';
import { redact } from '#foundation/domain/redact.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import * as semconv from './semconv.ts';
import { serverOf } from './server-of.ts';
import { spanIdOf, workflowTraceIdOf } from './trace-ids.ts';

export interface SpanEventDeps {
  readonly api: typeof import('@opentelemetry/api');
  readonly clock: Clock;
  /** Begins a span within the one under way; undefined where there is no place for it. */
  readonly begin: (name: string, options: SpanOptions) => Span | undefined;
  /** Epoch milliseconds; undefined for a span that did not begin here. */
  readonly beganAt: (span: Span) => number | undefined;
}

export function spansOfEvents(deps: SpanEventDeps): (event: OpsEvent) => void {
  return (event) => {
    if (event.type === 'policy.run') onRun(deps, event);
    if (event.type === 'api.request') onRequest(deps, event);
    if (event.type === 'action.outcome') onAction(deps, event);
  };
}

/** Returns the times of a span that ends now. It does not begin before its parent, though the clock was set back. */
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
  // A request of nobody's is one that a person asked for: it has no undertaking to belong to.
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
  // Without a duration it tells what became of an earlier act.
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
  // The run tells of all that it acted on, as far as a span may have links.
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

/** What a run came to, on the span that it ran inside of. */
function onRun({ api }: SpanEventDeps, event: Extract<OpsEvent, { type: 'policy.run' }>): void {
  const span = api.trace.getActiveSpan();
  const { account, outcome, planId, matched, acted, backlog, stopped, error } = event;
  span?.setAttributes({
    [semconv.ATTR_MSGSVC_ACCOUNT]: account,
    'opsd.outcome': outcome,
    'opsd.matched': matched,
    'opsd.acted': acted,
    'opsd.backlog': backlog,
    ...(planId !== undefined && { 'opsd.plan': planId }),
    ...(stopped !== undefined && { 'opsd.guard': stopped.guard }),
  });
  if (error === undefined) return;
  span?.setAttribute(semconv.ATTR_ERROR_TYPE, outcome);
  span?.setStatus({ code: api.SpanStatusCode.ERROR });
}
