/** What the service itself calls because of a request: the callbacks that the request's own headers name. */
import { examplesOf, type Examples, type Spelling } from './examples.ts';
import { integer, ref, text } from './json-schema.ts';
import { headerTableOf } from './operations.ts';
import type { Parameter } from './parameters.ts';
import type { MediaType, ResponseObject } from './responses.ts';

/** By the expression that tells where it goes. */
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

/** @param operation the name of the one whose request asks for them */
export function callbacksOf(operation: string, spelling: Spelling): Readonly<Record<string, Callback>> {
  const headers = headerTableOf(operation);
  return {
    ...('Callback' in headers && {
      callback: callback(spelling, {
        header: 'Callback',
        operationId: `${operation}-callback`,
        summary: 'Tell of a delivery attempt',
        description: 'After each delivery attempt, whatever came of it.',
        examples: examplesOf('callback', spelling).request,
      }),
    }),
    ...('Failure-Callback' in headers && {
      failureCallback: callback(spelling, {
        header: 'Failure-Callback',
        operationId: `${operation}-failure-callback`,
        summary: 'Tell of a failure',
        description: 'When the retries are exhausted.',
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
        description: `${told.description} A message of its own, with POST unless another method was asked for.`,
        security: [],
        parameters: [
          own('Message-Id', 'Of the callback, which is a message itself.', text()),
          own('Retried', 'Retries of the callback so far.', { ...integer(), minimum: 0 }),
          own('Signature', 'HS256 JWT over the body, made with a signing key of the account.', text()),
        ],
        requestBody: { required: true, content: { 'application/json': { schema: ref('Callback'), examples } } },
        responses: {
          '2XX': { description: 'Taken.' },
          '4XX': {
            description: `Tried again, as a message is; not after 489 with ${headerPrefix}-NonRetryable-Error: true.`,
          },
          default: { description: 'Tried again, as a message is.' },
        },
      },
    },
  };
}
