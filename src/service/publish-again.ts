/** Request that publishes a message again, as its failure callback reported it. */
import type { CarriedMessage, PublishAgain } from './api.ts';
import { checkHeaderValue } from './arguments.ts';
import { callRequest, type OperationRequest } from './request.ts';
import type { WireNames } from './wire-names.ts';

/** Settings of the source that the new message keeps, apart from those of its callbacks. */
const KEPT_SETTINGS = ['Timeout', 'Retry-Delay', 'Flow-Control-Key', 'Flow-Control-Value', 'Redact-Fields'];

/** Headers of one connection, or of one delivery. */
const OF_CONNECTION: ReadonlySet<string> = new Set(
  'accept-encoding connection content-length content-type date expect host keep-alive te trailer transfer-encoding upgrade user-agent'.split(
    ' ',
  ),
);

/**
 * Returns the request. The interface does not say which headers the callback reports. With a setting of the service
 * among them, they are those of the publish request: only its forwarded headers reach the destination, not its
 * credentials. Otherwise they are those of the delivery.
 *
 * @throws {InvalidRequestError}
 */
export function publishAgainRequest(
  { url, method, headers, body }: CarriedMessage,
  { labels, retries, deduplicationId, failureCallback }: PublishAgain,
  names: WireNames,
): OperationRequest & { readonly body: Uint8Array } {
  const settings = new Map<string, string>();
  const plain = new Map<string, string>();
  const prefix = names.header('').toLowerCase();
  for (const [name, values] of Object.entries(headers)) {
    const isSetting = name.toLowerCase().startsWith(prefix);
    const known = isSetting ? settings : plain;
    known.set(isSetting ? name.slice(prefix.length).toLowerCase() : name, values.join(', '));
  }
  const forward: Record<string, string> = {};
  let contentType: string | undefined;
  for (const [name, value] of plain) {
    if (name.toLowerCase() === 'content-type') contentType = value;
    if (settings.size === 0 && !OF_CONNECTION.has(name.toLowerCase())) forward[name] = value;
  }
  const kept: Record<string, string> = {};
  for (const [name, value] of settings) {
    const header = KEPT_SETTINGS.find((one) => one.toLowerCase() === name);
    if (name.startsWith('forward-')) forward[name.slice('forward-'.length)] = value;
    if (header === undefined && !/^(?:failure-)?callback(?:-|$)/.test(name)) continue;
    kept[names.header(header ?? name)] = checkHeaderValue('publish', name, value);
  }
  const hasCallback = settings.has('failure-callback');
  const request = callRequest(
    'publish',
    {
      destination: url,
      method,
      contentType,
      forward,
      retries,
      label: labels,
      deduplicationId,
      ...(!hasCallback &&
        failureCallback && { failureCallback: failureCallback.url, failureCallbackForward: failureCallback.forward }),
    },
    names,
  );
  const hidden = [...request.hidden, ...Object.values(kept), Buffer.from(body).toString('utf8')];
  return { ...request, headers: { ...request.headers, ...kept }, body, hidden };
}
