/** OpenAPI 3.1 document of the API: the routes of the contract, and the named schemas that they use. */
import { z } from 'zod';
import { GROUPS } from './index.ts';
import { methodOf, pathOf, type ContractRoute } from './route.ts';
import { DEFINITION, named, object, text, type Schema } from './schema.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

interface Response {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
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
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const ERROR = 'Error';

const error = named(
  ERROR,
  object({ error: object({ code: text('Stable code.'), message: text('The reason, and what to do.') }) }),
);

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

export function apiDocument(version: string): ApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  const schemas = new Map<string, Schema>();
  collect(error, schemas);
  for (const { name, routes } of GROUPS) {
    for (const route of routes as readonly ContractRoute[]) {
      const path = pathOf(route).replace('{id}', `{${route.parameter ?? 'id'}}`);
      (paths[path] ??= {})[methodOf(route).toLowerCase()] = operationObject(route, name);
      collect(route.answer, schemas);
    }
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
    tags: GROUPS.map(({ name, description }) => ({ name, description })),
    security: [{}, { token: [] }, { user: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      responses: {
        ...errorResponses({ ...ERRORS, default: 'Any other error.' }, 'application/json', error),
        ...errorResponses(TEXT_ERRORS, 'text/plain', text()),
      },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Token of `server.tokens`.' },
        user: { type: 'http', scheme: 'basic', description: 'User of the web configuration file.' },
      },
    },
  };
}

/** Adds the named schemas that a schema uses. */
function collect(schema: Schema, into: Map<string, Schema>): void {
  const { [DEFINITION]: definition, items, properties = {}, additionalProperties, anyOf = [] } = schema;
  if (definition !== undefined) {
    if (into.has(definition.name)) return;
    into.set(definition.name, definition.schema);
    collect(definition.schema, into);
  }
  for (const part of [items, additionalProperties, ...Object.values(properties), ...anyOf]) {
    if (part !== undefined) collect(part, into);
  }
}

function errorResponses(
  descriptions: Readonly<Record<string, string>>,
  contentType: string,
  schema: Schema,
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

function operationObject(route: ContractRoute, tag: string): OperationObject {
  const { id, summary, role, answer, body, errors = [] } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route.query)];
  const refusals = new Set([
    400,
    401,
    ...Object.keys(TEXT_ERRORS).map(Number),
    ...(methodOf(route) === 'POST' ? [403] : []),
    ...errors,
  ]);
  const statuses = [...[...refusals].sort((a, b) => a - b).map(String), 'default'];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: role === 'socket' ? 'Only over the unix socket.' : `Role: ${role}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } },
    }),
    responses: {
      '200': { description: 'Done.', content: { 'application/json': { schema: answer } } },
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }])),
    },
  };
}

function pathParameters({ key, parameter = 'id' }: ContractRoute): readonly Parameter[] {
  return key.endsWith('{id}') ? [{ name: parameter, in: 'path', required: true, schema: text() }] : [];
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
