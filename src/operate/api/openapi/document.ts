/**
 * OpenAPI 3.1 document of the API. Paths, queries and bodies are those of the routes, with the schemas that the routes
 * use. Responses are in the table of operations.
 */
import { z } from 'zod';
import type { ApiRoute } from '../api-deps.ts';
import { objectOf, ref, text, type JsonSchema } from './json-schema.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { INCIDENT_SCHEMAS } from './incident-schemas.ts';
import { PLAN_SCHEMAS } from './plan-schemas.ts';
import { READING_SCHEMAS } from './reading-schemas.ts';
import { STATUS_SCHEMAS } from './status-schemas.ts';
import { TAGS, tagOf } from './tags.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

interface Response {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: { readonly 'application/json': { readonly schema: object } };
  };
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

export interface ApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const ERROR = 'Error';

const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...STATUS_SCHEMAS,
  ...PLAN_SCHEMAS,
  ...READING_SCHEMAS,
  ...INCIDENT_SCHEMAS,
  Error: objectOf<{ error: unknown }>({
    error: objectOf<{ code: string; message: string }>({
      code: text('Stable code.'),
      message: text('The reason, and what to do.'),
    }),
  }),
};

/** Errors of the connection, before the request has an operation: a line of text. */
const TEXT_ERRORS: Readonly<Record<number, string>> = {
  408: 'The request was not complete in time.',
  431: 'The headers have more than 16 KiB; the connection is closed.',
};

/** Descriptions of errors by status. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'The query or the body is invalid.',
  401: 'Missing or unknown credentials.',
  403: 'The role does not allow it.',
  404: 'Unknown name or id.',
  409: 'The present state does not allow it.',
  422: 'The configuration is invalid; nothing has changed.',
  429: 'The request budget does not allow it; Retry-After has the time.',
  502: 'The service rejected the request, or its response is invalid.',
  503: 'The store or the service is unavailable, or the daemon is busy or stopping.',
};

export function apiDocument(routes: readonly ApiRoute[], version: string): ApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const route of routes) {
    const operation = OPERATIONS[`${route.method} ${route.path}`];
    if (operation === undefined) continue;
    const path = route.path.replace('{id}', `{${operation.parameter ?? 'id'}}`);
    (paths[path] ??= {})[route.method.toLowerCase()] = operationObject(route, operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'opsd',
      version,
      description:
        'API of the daemon. Times are epoch milliseconds in fields named `at` or `…At`. An absent field is unknown or ' +
        'never happened. New versions add fields and do not rename them.',
    },
    servers: [{ url: '/' }],
    tags: TAGS,
    security: [{}, { token: [] }, { user: [] }],
    paths,
    components: {
      schemas: SCHEMAS,
      responses: {
        ...errorResponses({ ...ERRORS, default: 'Any other error.' }, 'application/json', ref(ERROR)),
        ...errorResponses(TEXT_ERRORS, 'text/plain', text()),
      },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Token of `server.tokens`.' },
        user: { type: 'http', scheme: 'basic', description: 'User of the web configuration file.' },
      },
    },
  };
}

function errorResponses(
  descriptions: Readonly<Record<string, string>>,
  contentType: string,
  schema: JsonSchema,
): Readonly<Record<string, Response>> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      nameOf(status),
      { description, content: { [contentType]: { schema } } },
    ]),
  );
}

function nameOf(status: string): string {
  return status === 'default' ? ERROR : `${ERROR}${status}`;
}

function operationObject({ path, method, query, body }: ApiRoute, operation: Operation): OperationObject {
  const { id, summary, role, response, errors = [] } = operation;
  const parameters = [...pathParameters(path, operation), ...(query === undefined ? [] : queryParameters(query()))];
  const refusals = new Set([
    400,
    401,
    ...Object.keys(TEXT_ERRORS).map(Number),
    ...(method === 'POST' ? [403] : []),
    ...errors,
  ]);
  const statuses = [...[...refusals].sort((a, b) => a - b).map(String), 'default'];
  return {
    operationId: id,
    tags: [tagOf(path)],
    summary,
    description: role === 'socket' ? 'Only over the unix socket.' : `Role: ${role}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body()) } } },
    }),
    responses: {
      '200': { description: 'Done.', content: { 'application/json': { schema: response } } },
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }])),
    },
  };
}

function pathParameters(path: string, { parameter = 'id' }: Operation): readonly Parameter[] {
  return path.endsWith('{id}') ? [{ name: parameter, in: 'path', required: true, schema: text() }] : [];
}

/** Lists repeat their parameter, which is the standard form in OpenAPI. */
function queryParameters(schema: z.ZodObject): readonly Parameter[] {
  const { properties = {}, required = [] } = schemaOf(schema) as {
    readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: rest,
  }));
}

function schemaOf(schema: z.ZodType): object {
  const { $schema: _version, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
