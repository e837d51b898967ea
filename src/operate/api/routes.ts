/** All routes of the JSON API. docs/api.md documents them; field names are stable. */
import type { ApiRoute } from './api-deps.ts';
import { COMMAND_ROUTES } from './command-routes.ts';
import { INCIDENT_ROUTES } from './incident-routes.ts';
import { MESSAGE_ROUTES } from './message-routes.ts';
import { OPERATION_ROUTES } from './operation-routes.ts';
import { PLAN_ROUTES } from './plan-routes.ts';
import { READING_ROUTES } from './reading-routes.ts';
import { STATUS_ROUTES } from './status-routes.ts';

export const API_ROUTES: readonly ApiRoute[] = [
  ...STATUS_ROUTES,
  ...READING_ROUTES,
  ...MESSAGE_ROUTES,
  ...INCIDENT_ROUTES,
  ...PLAN_ROUTES,
  ...COMMAND_ROUTES,
  ...OPERATION_ROUTES,
];
