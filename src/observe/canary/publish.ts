/**
 * Publishes one message of a canary. It has no retries, so the log has one attempt, and a second arrival is not a
 * retry. The log must not show its codes.
 */
import type { FlowControlSpec } from '#foundation/domain/flow-control.ts';
import type { PublishRequest } from '#service/api.ts';
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { isInvalidRequest, serviceErrorCode } from '#foundation/domain/service-error.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Publish, RequestFailure } from './facts.ts';
import { bodyOf, codeOf, CODE_HEADER } from './message.ts';
import type { Round } from './round.ts';
import type { CanaryTarget } from './target.ts';

/** Label that only the message of a round has. It finds the message in the log if its id is unknown. */
export function labelOf({ record }: Round): string {
  return `${CANARY_LABEL}-${record.id}`;
}

/** Sends the publish request of a round, once. Never rejects. */
export async function publish(target: CanaryTarget, round: Round, signal: AbortSignal): Promise<Publish> {
  try {
    const sent = await send(target, round, signal);
    return { afterMs: round.nowMs, ...sent };
  } catch (error) {
    return { afterMs: round.nowMs, failure: failureOf(error), isRejected: hasNoEffect(error) };
  }
}

export function failureOf(error: unknown): RequestFailure {
  const code = isInvalidRequest(error) ? 'invalid_request' : (serviceErrorCode(error) ?? 'aborted');
  const { status } = error as { readonly status?: unknown };
  return { code, message: errorMessage(error), ...(typeof status === 'number' && { status }) };
}

/** Returns true if the request certainly had no effect. */
function hasNoEffect(error: unknown): boolean {
  return (error as { readonly effect?: unknown } | null)?.effect === 'none';
}

/** Error for a request that must not be sent, or whose result cannot be attributed. */
export class NotSent extends Error {
  readonly code = 'invalid_request';
  readonly effect = 'none';
}

async function send(target: CanaryTarget, round: Round, signal: AbortSignal): Promise<Partial<Publish>> {
  const { api, url, settings, book } = target;
  const { nonce, bytes, attemptMs } = round.record;
  const code = codeOf(book.key, 'message', nonce, target);
  const delivery = {
    body: bodyOf(nonce, bytes).toString('latin1'),
    forward: { [CODE_HEADER]: code },
    retries: 0,
    label: [CANARY_LABEL, labelOf(round)],
  } as const;
  const { flowControlKey, urlGroup, queue, workflow } = settings.via ?? {};
  if (workflow === true) {
    const { workflowRunId } = await api.trigger({ workflowUrl: url, ...delivery }, { signal });
    return { workflowRunId };
  }
  const timeout = `${(attemptMs ?? 0) / 1_000}s`;
  const callbackCode = codeOf(book.key, 'callback', nonce, target);
  const request: PublishRequest = {
    destination: urlGroup ?? url,
    ...delivery,
    contentType: 'text/plain',
    ...(attemptMs !== undefined && { timeout }),
    callback: target.callbackUrl,
    callbackRetries: 0,
    callbackForward: { [CODE_HEADER]: callbackCode },
    redactFields: ['body', `header[${CODE_HEADER}]`],
    ...(flowControlKey !== undefined && { flowControl: await limitsOf(target, flowControlKey, signal) }),
    ...(queue !== undefined && { queue }),
  };
  if (urlGroup !== undefined) await requireOwnGroup(target, urlGroup, signal);
  const [first] = await api.publish(request, { signal });
  return first === undefined ? {} : { messageId: first.messageId };
}

/** Parallelism of a key that the service does not know. No message waits for it, and its users set their own limit. */
const UNKNOWN_KEY_PARALLELISM = 10;

/** Returns the limits that the key has. Each publish sets them, so the canary repeats them. */
async function limitsOf({ api }: CanaryTarget, key: string, signal: AbortSignal): Promise<FlowControlSpec> {
  const { value } = await api.getFlowControl(key, { signal }).catch((error: unknown) => {
    if (serviceErrorCode(error) === 'not_found') return { value: undefined };
    throw error;
  });
  const { parallelismMax: parallelism = 0, rateMax: rate = 0, ratePeriod: period = 0 } = value ?? {};
  if (parallelism > 0 || rate > 0) {
    return {
      key,
      ...(parallelism > 0 && { parallelism }),
      ...(rate > 0 && { rate }),
      ...(rate > 0 && period > 0 && { period }),
    };
  }
  if (value === undefined || value.waitListSize === 0) return { key, parallelism: UNKNOWN_KEY_PARALLELISM };
  throw new NotSent('messages wait for the flow-control key, and the service shows no limits that a canary can repeat');
}

/** A message to a URL Group goes to all of its endpoints, so the group must be the canary's own. */
async function requireOwnGroup({ api, url }: CanaryTarget, name: string, signal: AbortSignal): Promise<void> {
  const { value } = await api.listUrlGroups({ signal });
  const group = value.find((one) => one.name === name);
  if (group === undefined) throw new NotSent(`the URL Group does not exist; add ${url} to it`);
  if (group.endpoints.length === 1 && group.endpoints[0]!.url === url) return;
  throw new NotSent(`the only endpoint of the URL Group must be ${url}`);
}
