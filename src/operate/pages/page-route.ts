/** Route of the first page. */
import type { ApiDeps } from '../api/api-deps.ts';
import { readStatus } from '../api/status.ts';
import type { Reply } from '../http/reply.ts';
import type { Route, RouteContext } from '../http/route.ts';
import { PAGE_CSP, renderPage, type PageLink } from './page.ts';

export interface PageDeps extends ApiDeps {
  /** Additional links on the page. */
  readonly links: readonly PageLink[];
}

const PAGE_ACTIONS = 20;
const REFRESH_SECONDS = { min: 2, max: 3_600 };

export const PAGE_ROUTE: Route<PageDeps> = { path: '/', method: 'GET', handle: page };

function page({ deps, query }: RouteContext<PageDeps>): Reply {
  const refresh = Number(query.get('refresh'));
  const refreshes =
    Number.isInteger(refresh) && refresh >= REFRESH_SECONDS.min && refresh <= REFRESH_SECONDS.max && refresh;
  const options = {
    links: deps.links,
    command: deps.command ?? ((text: string) => `opsd ${text}`),
    labels: deps.labels?.() ?? [],
    ...(refreshes !== false && { refreshSeconds: refreshes }),
  };
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: renderPage(readStatus(deps, PAGE_ACTIONS), options),
    headers: { 'Content-Security-Policy': PAGE_CSP, 'X-Frame-Options': 'DENY' },
    compress: true,
  };
}
