/** URL Groups: adds endpoints and lists the groups. */
import { errorMessage } from '#foundation/platform/error-message.ts';
import { requireReachable, stateOf, type MessageContext } from './message-context.ts';
import { ApiError } from '../state/api-error.ts';
import type { ReceivedRequest, ApiResponse } from './route.ts';
import { isHttpUrl } from './service-headers.ts';
import type { Endpoint } from '../state/url-groups.ts';

/** A name of only dots would not remain a path segment. */
const GROUP_NAME = /^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

export function addEndpoints(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const name = request.params['urlGroupName']!;
  // bounded: the length of a name
  if (name.length > 128 || !GROUP_NAME.test(name)) {
    throw new ApiError(
      400,
      'urlGroupName: a name has letters, digits, dots, dashes and underscores, at most 128 characters, and not only dots',
    );
  }
  const endpoints = readEndpoints(request.body);
  requireReachable(
    context,
    endpoints.map(({ url }) => url),
  );
  stateOf(context, request).urlGroups.upsert(name, endpoints, {
    now: context.clock.now(),
    limits: context.limitsOf(request.account),
  });
  return { status: 200 };
}

function readEndpoints(body: Uint8Array): readonly Endpoint[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw new ApiError(400, `the body is not JSON: ${errorMessage(error)}`);
  }
  const endpoints = (parsed as { readonly endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new ApiError(400, 'the body must be {"endpoints": [{"url": …, "name": …}, …]} with at least one endpoint');
  }
  return endpoints.map(readEndpoint);
}

function readEndpoint(value: unknown, index: number): Endpoint {
  const { url, name } = (value ?? {}) as { readonly url?: unknown; readonly name?: unknown };
  if (typeof url !== 'string' || !isHttpUrl(url)) {
    throw new ApiError(400, `endpoints[${index}].url must be a URL that begins with http:// or https://`);
  }
  if (name !== undefined && typeof name !== 'string')
    throw new ApiError(400, `endpoints[${index}].name must be a string`);
  return name === undefined || name === '' ? { url } : { url, name };
}

export function listGroups(context: MessageContext, request: ReceivedRequest): ApiResponse {
  return { status: 200, json: stateOf(context, request).urlGroups.all() };
}
