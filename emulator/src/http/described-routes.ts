/** Compares each request with the tables of parameters, and serves the OpenAPI document. */
import { ApiError } from '../state/api-error.ts';
import type { Switches } from '../state/switches.ts';
import type { Spelling } from './openapi.ts';
import { queryTableOf } from './query-parameters.ts';
import type { Route } from './route.ts';

/**
 * Wraps the routes: each rejects query parameters that the table does not name, unless the switches ignore them. Adds
 * `GET /-/openapi.json` and `GET /health`, which need no credentials.
 */
export function describedRoutes(
  routes: readonly Route[],
  options: Spelling & { readonly switches: Switches },
): readonly Route[] {
  return [...routes.map((route) => refusing(route, options.switches)), documentRoute(options), HEALTH];
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
    // Loaded when it is asked for: few read it.
    handle: async () => {
      const { openApiDocument } = await import('./openapi.ts');
      return { status: 200, json: openApiDocument({ headerPrefix, product }) };
    },
  };
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
