/**
 * Compares the routes with the table of operations at the start, and each request with the table. Serves the OpenAPI
 * document that is generated from the table.
 */
import { ApiError } from '../state/api-error.ts';
import type { Route } from './route.ts';
import type { Switches } from '../state/switches.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { Spelling } from '../openapi/examples.ts';
import { operations, queryTableOf, type Operation } from '../openapi/operations.ts';

/**
 * Wraps the routes: each rejects query parameters that the table does not name, unless the switches ignore them. Adds
 * `GET /-/openapi.json` and `GET /health`, which need no credentials.
 *
 * @throws {Error} when an operation has no route, a route has no operation, or their paths or methods differ
 */
export function describedRoutes(
  routes: readonly Route[],
  options: Spelling & { readonly switches: Switches },
): readonly Route[] {
  const open = new Map(operations(options.product).map((operation) => [operation.name, operation]));
  const described = routes.map((route) => {
    const operation = open.get(route.operation);
    open.delete(route.operation);
    if (operation === undefined || !isAt(operation, route)) {
      throw new Error(`${route.method} ${route.pattern} (${route.operation}) differs from the table of operations`);
    }
    return refusing(route, options.switches);
  });
  if (open.size > 0) throw new Error(`operations without a route: ${[...open.keys()].join(', ')}`);
  return [...described, documentRoute(options), HEALTH];
}

/** Responds as soon as the service accepts requests. */
const HEALTH: Route = {
  api: 'control',
  operation: 'get-health',
  method: 'GET',
  pattern: '/health',
  handle: () => ({ status: 200, json: { status: 'ok' } }),
};

function documentRoute({ headerPrefix, product }: Spelling): Route {
  return {
    api: 'control',
    operation: 'get-openapi',
    method: 'GET',
    pattern: '/-/openapi.json',
    handle: () => ({ status: 200, json: openApiDocument({ headerPrefix, product }) }),
  };
}

function isAt(operation: Operation, route: Route): boolean {
  const rest = operation.takesRest === true;
  const pattern = operation.path.replaceAll(/\{(\w+)\}/g, rest ? '*$1' : ':$1');
  return operation.api === route.api && operation.method === route.method && pattern === route.pattern;
}

function refusing(route: Route, switches: Switches): Route {
  const known = queryTableOf(route.operation);
  return {
    ...route,
    handle: (request) => {
      for (const name of request.query.keys()) {
        // Evaluated at each request: switches can change while the service runs.
        if (Object.hasOwn(known, name) || switches.unknownFilter === 'ignored') continue;
        throw new ApiError(400, `${JSON.stringify(name.slice(0, 100))} is not a parameter of this operation`);
      }
      return route.handle(request);
    },
  };
}
