/**
 * The OpenAPI 3.1 document of the whole interface, in the spelling of an installation. It is valid for every setting of
 * the switches: where real installations differ, it allows each form.
 */
import { callbacksOf, type Callback } from './callbacks.ts';
import { examplesOf, type Examples, type Spelling } from './examples.ts';
import { ref, text, type JsonSchema } from './json-schema.ts';
import { managementSchemas } from './management-schemas.ts';
import { MESSAGE_SCHEMAS } from './message-schemas.ts';
import { headerTableOf, operations, type Operation } from './operations.ts';
import { parametersOf, type Parameter } from './parameters.ts';
import {
  HEADERS,
  responseComponents,
  responsesOf,
  type HeaderObject,
  type MediaType,
  type Reference,
  type ResponseObject,
} from './responses.ts';

interface RequestBody {
  readonly description?: string;
  readonly required?: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly callbacks?: Readonly<Record<string, Callback>>;
  /** Prefixes of forwarded headers. OpenAPI has no parameters with open names. */
  readonly 'x-forwarded-headers'?: readonly { readonly prefix: string; readonly description: string }[];
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly license: { readonly name: string; readonly identifier: string };
    readonly description: string;
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

export function openApiDocument(spelling: Spelling): OpenApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations(spelling.product)) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = operationObject(operation, spelling);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Message delivery, workflows and index management',
      version: '2',
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'To give alternatives of one query parameter, repeat it or use one comma-separated value: an entry ' +
        'matches when its value is any of them. Different parameters narrow the result. To get the next page, send ' +
        'the `cursor` of the response. An absent or empty cursor means that there is no next page.',
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'message', description: 'Message API: bearer token of an account.' },
      { name: 'management', description: 'Management API: basic authentication.' },
    ],
    paths,
    components: {
      schemas: { ...MESSAGE_SCHEMAS, ...managementSchemas(spelling.product) },
      responses: responseComponents(spelling.headerPrefix),
      headers: HEADERS,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'Token of an account; a read-only token allows only reads.',
        },
        credentials: { type: 'http', scheme: 'basic', description: 'Credentials of the owner of the accounts.' },
      },
    },
  };
}

function operationObject(operation: Operation, spelling: Spelling): OperationObject {
  const { name, api, summary, description, body } = operation;
  const parameters = parametersOf(operation, spelling.headerPrefix);
  const examples = examplesOf(name, spelling);
  const callbacks = callbacksOf(name, spelling);
  const forwarded = Object.entries(headerTableOf(name))
    .filter(([, header]) => header.kind === 'forward')
    .map(([header, spec]) => ({ prefix: `${spelling.headerPrefix}-${header}-`, description: spec.description }));
  return {
    operationId: name,
    summary,
    description,
    tags: [api],
    security: [api === 'message' ? { token: [] } : { credentials: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: requestBody(body, examples.request) }),
    responses: responsesOf(operation, examples.answers),
    ...(Object.keys(callbacks).length > 0 && { callbacks }),
    ...(forwarded.length > 0 && { 'x-forwarded-headers': forwarded }),
  };
}

function requestBody(body: NonNullable<Operation['body']>, examples: Examples): RequestBody {
  if ('schema' in body) {
    return { required: true, content: { 'application/json': { schema: ref(body.schema), examples } } };
  }
  // OpenAPI 3.1 ignores the format, but generators still derive bytes from it.
  const schema = body.type === '*/*' ? { ...text(), format: 'binary' } : text();
  return { description: body.raw, content: { [body.type]: { schema, examples } } };
}
