/** Callbacks: requests that the service sends because the headers of a request asked for them. */
import { examplesOf, type Examples, type Spelling } from './examples.ts';
import { integer, ref, text } from './json-schema.ts';
import { headerTableOf } from './operations.ts';
import type { Parameter } from './parameters.ts';
import type { MediaType, ResponseObject } from './responses.ts';

/** Callback by the expression of its URL. */
export type Callback = Readonly<Record<string, { readonly post: CallbackObject }>>;

interface CallbackObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly security: readonly [];
  readonly parameters: readonly Parameter[];
  readonly requestBody: { readonly required: true; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** @param operation name of the operation whose request asks for the callbacks */
export function callbacksOf(operation: string, spelling: Spelling): Readonly<Record<string, Callback>> {
  const headers = headerTableOf(operation);
  return {
    ...('Callback' in headers && {
      callback: callback(spelling, {
        header: 'Callback',
        operationId: `${operation}-callback`,
        summary: 'Report a delivery attempt',
        description: 'Sent after each delivery attempt, whatever its outcome.',
        examples: examplesOf('callback', spelling).request,
      }),
    }),
    ...('Failure-Callback' in headers && {
      failureCallback: callback(spelling, {
        header: 'Failure-Callback',
        operationId: `${operation}-failure-callback`,
        summary: 'Report a failure',
        description: 'Sent when the retries are exhausted.',
        examples: examplesOf('failure-callback', spelling).request,
      }),
    }),
  };
}

interface Told extends Pick<CallbackObject, 'operationId' | 'summary' | 'description'> {
  readonly header: string;
  readonly examples: Examples;
}

function callback({ headerPrefix }: Spelling, { header, examples, ...told }: Told): Callback {
  const own = (name: string, description: string, schema: Parameter['schema']): Parameter => ({
    name: `${headerPrefix}-${name}`,
    in: 'header',
    required: true,
    description,
    schema,
  });
  return {
    [`{$request.header.${headerPrefix}-${header}}`]: {
      post: {
        ...told,
        description: `${told.description} The callback is a separate message, sent with POST unless the request sets another method.`,
        security: [],
        parameters: [
          own('Message-Id', 'Id of the callback, which is itself a message.', text()),
          own('Retried', 'Retries of the callback so far.', { ...integer(), minimum: 0 }),
          own('Signature', 'HS256 JWT over the body, made with a signing key of the account.', text()),
        ],
        requestBody: { required: true, content: { 'application/json': { schema: ref('Callback'), examples } } },
        responses: {
          '2XX': { description: 'Accepted.' },
          '4XX': {
            description: `Retried as a message is, except after 489 with ${headerPrefix}-NonRetryable-Error: true.`,
          },
          default: { description: 'Retried as a message is.' },
        },
      },
    },
  };
}
