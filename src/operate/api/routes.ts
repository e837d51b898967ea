/** All routes of the JSON API. */
import { z } from 'zod';
import { readQuery } from '../http/query.ts';
import type { ApiRoute } from './api-deps.ts';
import { STATUS_ROUTES } from './api-routes.ts';
import { COMMAND_ROUTES } from './command-routes.ts';
import { MESSAGE_ROUTES } from './message-routes.ts';
import { openApiRoute } from './openapi-route.ts';
import { OPERATION_ROUTES } from './operation-routes.ts';
import { INCIDENT_ROUTES } from './incident-routes.ts';
import { READING_ROUTES } from './reading-routes.ts';

export const API_ROUTES: readonly ApiRoute[] = [
  ...STATUS_ROUTES,
  ...READING_ROUTES,
  ...MESSAGE_ROUTES,
  ...INCIDENT_ROUTES,
  ...COMMAND_ROUTES,
  ...OPERATION_ROUTES,
  openApiRoute(() => API_ROUTES),
].map(withStrictQuery);

/** Rejects every parameter of a route that has none. */
function withStrictQuery(route: ApiRoute): ApiRoute {
  if (route.query !== undefined) return route;
  return {
    ...route,
    handle(context) {
      readQuery(context.query, z.strictObject({}));
      return route.handle(context);
    },
  };
}
