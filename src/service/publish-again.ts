/** Request that publishes a message again, as its failure callback reported it. */
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { PublishAgain } from './api.ts';
import { checkHeaderValue } from './arguments.ts';
import { OF_TRANSPORT } from './parse/forwarded-headers.ts';
import { callRequest, type OperationRequest } from './request.ts';
import type { WireNames } from './wire-names.ts';

/** Settings of the source that the new message keeps, apart from those of its callbacks. */
const KEPT_SETTINGS = ['Timeout', 'Retry-Delay', 'Flow-Control-Key', 'Flow-Control-Value', 'Redact-Fields'];

/**
 * Returns the request. The interface does not say which headers the callback reports. With a setting of the service
 * among them, they are those of the publish request: only its forwarded headers reach the destination, not its
 * credentials. Otherwise they are those of the delivery. A credential of the account never leaves it.
 *
 * @param of.isOwn returns true for a text with a credential of the account
 * @throws {InvalidRequestError}
 */
export function publishAgainRequest(
  { url, method, headers, changed = {}, body }: CarriedMessage,
  { labels, retries, deduplicationId, failureCallback }: PublishAgain,
  { names, isOwn }: { readonly names: WireNames; readonly isOwn: (text: string) => boolean },
): OperationRequest {
  const { settings, plain } = sorted(headers, names);
  for (const [name, value] of plain) if (isOwn(value)) plain.delete(name);
  const { forward, contentType } = forwarded({ settings, plain, changed });
  const kept: Record<string, string> = {};
  for (const [name, value] of settings) {
    const header = KEPT_SETTINGS.find((one) => one.toLowerCase() === name);
    if (header === undefined && !/^(?:failure-)?callback(?:-|$)/.test(name)) continue;
    kept[names.header(header ?? name)] = checkHeaderValue('publish', name, value);
  }
  const hasCallback = settings.has('failure-callback');
  const request = callRequest(
    'publish',
    {
      destination: url,
      body,
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
  const hidden = [...request.hidden, ...Object.values(kept)];
  return { ...request, headers: { ...request.headers, ...kept }, hidden };
}

/** Settings of the service among the headers, by their lower-case name without its prefix, and the other headers. */
function sorted(headers: CarriedMessage['headers'], names: WireNames) {
  const prefix = names.header('').toLowerCase();
  const [settings, plain] = [new Map<string, string>(), new Map<string, string>()];
  for (const [name, values] of Object.entries(headers)) {
    const isSetting = name.toLowerCase().startsWith(prefix);
    if (isSetting) settings.set(name.slice(prefix.length).toLowerCase(), values.join(', '));
    else plain.set(name, values.join(', '));
  }
  return { settings, plain };
}

/** Headers that reach the destination, with those that an operator changed. */
function forwarded(of: {
  readonly settings: ReadonlyMap<string, string>;
  readonly plain: ReadonlyMap<string, string>;
  readonly changed: Readonly<Record<string, string>>;
}): { readonly forward: Readonly<Record<string, string>>; readonly contentType?: string } {
  const all = new Map<string, readonly [name: string, value: string]>();
  const set = (name: string, value: string): void => void all.set(name.toLowerCase(), [name, value]);
  for (const [name, value] of of.plain) {
    const isContent = name.toLowerCase() === 'content-type';
    if (isContent || (of.settings.size === 0 && !OF_TRANSPORT.test(name.toLowerCase()))) set(name, value);
  }
  for (const [name, value] of of.settings) if (name.startsWith('forward-')) set(name.slice('forward-'.length), value);
  for (const [name, value] of Object.entries(of.changed)) {
    if (value === '') all.delete(name.toLowerCase());
    else set(name, value);
  }
  const contentType = all.get('content-type')?.[1];
  all.delete('content-type');
  return { forward: Object.fromEntries(all.values()), ...(contentType !== undefined && { contentType }) };
}
