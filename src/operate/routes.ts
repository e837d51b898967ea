/** Routes of the pages and the JSON API, and the errors of browsers. server.ts loads them at their first request. */
import type { ApiDeps } from './api/api-deps.ts';
import { API_ROUTES } from './api/routes.ts';
import type { Route } from './http/route.ts';
import type { PageDeps } from './pages/frame/page.ts';
import { PAGE_ROUTES } from './pages/page-routes.ts';

export { renderError } from './pages/frame/error-page.ts';

export const ROUTES: readonly Route<ApiDeps & PageDeps>[] = [...PAGE_ROUTES, ...API_ROUTES];
