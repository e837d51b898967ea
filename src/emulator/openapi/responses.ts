/**
 * Responses of each operation: its success, its own errors, and as `default` the errors that any request may get.
 * Errors of the message API report the rate limits if the caller is already known.
 */
import type { Examples } from './examples.ts';
import { integer, long, ref, text, type JsonSchema } from './json-schema.ts';
import { type Operation } from './operations.ts';

export interface MediaType {
  readonly schema: JsonSchema;
  readonly examples?: Examples;
}

export interface Reference {
  readonly $ref: string;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface HeaderObject {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

type Api = Operation['api'];

/** Response headers by name. */
export const HEADERS: Readonly<Record<string, HeaderObject>> = {
  'Burst-RateLimit-Limit': { description: 'Requests of a second.', schema: { ...integer(), minimum: 0 } },
  'Burst-RateLimit-Remaining': { description: 'Requests left of this second.', schema: { ...integer(), minimum: 0 } },
  'Burst-RateLimit-Reset': { description: 'Unix seconds at which the second has ended.', schema: long() },
  'RateLimit-Limit': { description: 'Messages of a day.', schema: { ...integer(), minimum: 0 } },
  'RateLimit-Remaining': { description: 'Messages left of this day (UTC).', schema: { ...integer(), minimum: 0 } },
  'RateLimit-Reset': { description: 'Unix seconds at which the day has ended.', schema: long() },
  'Retry-After': { description: 'Seconds until the request can be retried.', schema: { ...integer(), minimum: 1 } },
  'WWW-Authenticate': { description: 'The required scheme.', required: true, schema: text() },
};

/** Headers of responses to authenticated callers. An installation sends both kinds, one of them or none. */
const RATE_LIMITS = Object.keys(HEADERS).filter((name) => name.includes('RateLimit'));

interface Refusal {
  readonly name: string;
  readonly description: Readonly<Partial<Record<Api, string>>>;
  readonly headers?: Readonly<Partial<Record<Api, readonly string[]>>>;
  readonly error: string;
}

const both = (description: string): Readonly<Record<Api, string>> => ({
  message: description,
  management: description,
});

const limited = { message: RATE_LIMITS };

const REFUSALS: Readonly<Record<string, Refusal>> = {
  '400': {
    name: 'BadRequest',
    description: both('The request is not as this document says; the error names the part.'),
    headers: limited,
    error: 'count must be at most 100, not 101',
  },
  '401': {
    name: 'Unauthorized',
    description: both('Credentials are missing or wrong.'),
    headers: { message: ['WWW-Authenticate'], management: ['WWW-Authenticate'] },
    error: 'the message API needs the bearer token of an account',
  },
  '403': {
    name: 'Forbidden',
    description: { message: 'A read-only token cannot write, and requests of an inactive account are rejected.' },
    error: 'publish is a write: a read-only token is not allowed',
  },
  '404': {
    name: 'NotFound',
    description: both('No resource has this name or id.'),
    headers: limited,
    error: 'there is no URL Group named order-events',
  },
  '412': {
    name: 'BeyondPlan',
    description: { message: 'The plan of the account does not allow it: retries, delay, URL Groups, endpoints.' },
    headers: limited,
    error: 'Svc-Retries is 6, more than 5, the most that the plan paid allows',
  },
  '413': {
    name: 'TooLarge',
    description: both('The body exceeds the maximum size.'),
    headers: limited,
    error: 'the body is larger than 1048576 bytes, the maximum',
  },
  '429': {
    name: 'TooMany',
    description: {
      message: 'The requests of the second, the messages of the day or the budget of the month are used up.',
    },
    headers: { message: ['Retry-After', ...RATE_LIMITS] },
    error: 'quota exhausted: the account 7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31 may send 1000000 messages a day',
  },
  default: {
    name: 'Failure',
    description: both(
      'Errors that any request can get: an HTTP error (408, 417, 431, 413 for a body where none is allowed), or a ' +
        'failure of the service (5xx).',
    ),
    headers: limited,
    error: 'the embedded service failed on this request',
  },
};

function statusesOf({ api, body, refusals = [] }: Operation): readonly string[] {
  const own = refusals.map(String);
  const ofApi = api === 'message' ? ['403', '429'] : [];
  const ofRequest = body === undefined ? [] : ['413'];
  return [...['400', '401', ...ofApi, ...own, ...ofRequest].sort(), 'default'];
}

/** @param examples examples of the successful responses, by name */
export function responsesOf(
  operation: Operation,
  examples: Examples,
): Readonly<Record<string, ResponseObject | Reference>> {
  const { api, answer, accepted } = operation;
  const success: ResponseObject = {
    description: 'Done.',
    ...(api === 'message' && { headers: headersOf(RATE_LIMITS) }),
    ...(answer !== undefined && { content: { 'application/json': { schema: ref(answer), examples } } }),
  };
  const refused = statusesOf(operation).map((status) => {
    const $ref = `#/components/responses/${nameOf(api, REFUSALS[status]!)}`;
    return [status, { $ref }] as const;
  });
  return {
    '200': success,
    ...(accepted !== undefined && { '202': { ...success, description: accepted } }),
    ...Object.fromEntries(refused),
  };
}

/** @param headerPrefix prefix of the installation's headers, such as `Svc` */
export function responseComponents(headerPrefix: string): Readonly<Record<string, ResponseObject>> {
  const all = (['message', 'management'] as const).flatMap((api) =>
    Object.values(REFUSALS).flatMap((refusal) => {
      const description = refusal.description[api];
      return description === undefined
        ? []
        : [[nameOf(api, refusal), refusalObject(api, refusal, headerPrefix)] as const];
    }),
  );
  return Object.fromEntries(all);
}

function refusalObject(api: Api, { description, headers, error }: Refusal, headerPrefix: string): ResponseObject {
  const names = headers?.[api] ?? [];
  const value = { error: error.replaceAll('Svc', headerPrefix) };
  return {
    description: description[api]!,
    ...(names.length > 0 && { headers: headersOf(names) }),
    content: { 'application/json': { schema: ref('Error'), examples: { refused: { value } } } },
  };
}

function headersOf(names: readonly string[]): Readonly<Record<string, Reference>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns the component's name, such as `MessageNotFound`. */
function nameOf(api: Api, { name }: Refusal): string {
  return `${api === 'message' ? 'Message' : 'Management'}${name}`;
}
