/** Request that publishes a message again, as its failure callback reported it. */
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { PublishAgain } from './api.ts';
import { checkHeaderValue } from './arguments.ts';
import { forwardedHeaders } from './parse/forwarded-headers.ts';
import { callRequest, type OperationRequest } from './request.ts';
import { InvalidRequestError } from './service-error.ts';
import type { WireNames } from './wire-names.ts';

/** Settings of the source that the new message keeps, in lower case. */
const KEPT =
  /^(?:timeout|retry-delay|flow-control-key|flow-control-value|redact-fields|(?:failure-)?callback(?:-.*)?)$/;

/**
 * Returns the request. A credential of the account never leaves it.
 *
 * @param of.isOwn returns true for a text with a credential of the account
 * @throws {InvalidRequestError}
 */
export function publishAgainRequest(
  { url, method, headers, changed = {}, body }: CarriedMessage,
  { labels, retries, deduplicationId, failureCallback }: PublishAgain,
  { names, isOwn }: { readonly names: WireNames; readonly isOwn: (text: string) => boolean },
): OperationRequest {
  const prefix = names.header('');
  const received = forwardedHeaders(headers, prefix, (_name, text) => isOwn(text));
  if (received === undefined) throw new InvalidRequestError('publish', 'a header is redacted');
  const replaced = Object.keys(changed).map((name) => name.toLowerCase());
  const all = [
    ...Object.entries(received).filter(([name]) => !replaced.includes(name.toLowerCase())),
    ...Object.entries(changed).filter(([, value]) => value !== ''),
  ];
  const isType = ([name]: readonly [string, string]): boolean => name.toLowerCase() === 'content-type';
  const kept: Record<string, string> = {};
  for (const [name, values] of Object.entries(headers)) {
    const setting = name.toLowerCase().slice(prefix.length);
    if (!name.toLowerCase().startsWith(prefix.toLowerCase()) || !KEPT.test(setting)) continue;
    kept[names.header(setting)] = checkHeaderValue('publish', setting, values.join(', '));
  }
  const hook = names.header('failure-callback') in kept ? undefined : failureCallback;
  const request = callRequest(
    'publish',
    {
      destination: url,
      body,
      method,
      contentType: all.find(isType)?.[1],
      forward: Object.fromEntries(all.filter((one) => !isType(one))),
      retries,
      label: labels,
      deduplicationId,
      failureCallback: hook?.url,
      failureCallbackForward: hook?.forward,
    },
    names,
  );
  const hidden = [...request.hidden, ...Object.values(kept)];
  return { ...request, headers: { ...request.headers, ...kept }, hidden };
}
