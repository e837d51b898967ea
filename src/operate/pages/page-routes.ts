/** Routes of the pages. */
import { ASSET_ROUTES } from './frame/assets.ts';
import type { PageRoute } from './frame/page.ts';
import { SIGN_IN_ROUTES } from './frame/sign-in.ts';
import { nowPage } from './now.ts';
import { PAUSE_ROUTES } from './pauses.ts';
import { decide, planPage } from './plan.ts';
import { policiesPage } from './policies.ts';
import { dryRun, policyPage } from './policy.ts';
import { sourcesPage } from './sources.ts';

export const PAGE_ROUTES: readonly PageRoute[] = [
  { path: '/', method: 'GET', handle: nowPage },
  { path: '/policies', method: 'GET', handle: policiesPage },
  { path: '/policies/{id}', method: 'GET', handle: policyPage },
  { path: '/policies/{id}', method: 'POST', hasForm: true, handle: dryRun },
  { path: '/plans/{id}', method: 'GET', handle: planPage },
  { path: '/plans/{id}', method: 'POST', hasForm: true, handle: decide },
  { path: '/sources', method: 'GET', handle: sourcesPage },
  ...PAUSE_ROUTES,
  ...SIGN_IN_ROUTES,
  ...ASSET_ROUTES,
];
