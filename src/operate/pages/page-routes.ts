/** Routes of the pages. */
import { auditPage, verifyPage } from './audit.ts';
import { canariesPage } from './canaries.ts';
import { configurationPage } from './configuration.ts';
import { planDeadLetters } from './dead-letter-selection.ts';
import { deadLetterPage, deadLettersPage } from './dead-letters.ts';
import { flowControlPage } from './flow-control.ts';
import { ASSET_ROUTES } from './frame/assets.ts';
import type { PageRoute } from './frame/page.ts';
import { SIGN_IN_ROUTES } from './frame/sign-in.ts';
import { TOUR_ROUTES } from './frame/tour-route.ts';
import { changeIncident, incidentPage } from './incident.ts';
import { incidentsPage } from './incidents.ts';
import { messagePage, messagesPage } from './messages.ts';
import { nowPage } from './now.ts';
import { PAUSE_ROUTES } from './pauses.ts';
import { decidePlan, planPage } from './plan.ts';
import { policiesPage } from './policies.ts';
import { dryRun, policyPage } from './policy.ts';
import { searchPage } from './search.ts';
import { sourcesPage } from './sources.ts';
import { spendPage } from './spend.ts';

export const PAGE_ROUTES: readonly PageRoute[] = [
  { path: '/', method: 'GET', handle: nowPage },
  { path: '/incidents', method: 'GET', handle: incidentsPage },
  { path: '/incidents/{id}', method: 'GET', handle: incidentPage },
  { path: '/incidents/{id}', method: 'POST', hasForm: true, handle: changeIncident },
  { path: '/dead-letters', method: 'GET', handle: deadLettersPage },
  { path: '/dead-letters', method: 'POST', hasForm: true, handle: planDeadLetters },
  { path: '/dead-letters/{id}', method: 'GET', handle: deadLetterPage },
  { path: '/dead-letters/{id}', method: 'POST', hasForm: true, handle: planDeadLetters },
  { path: '/messages', method: 'GET', handle: messagesPage },
  { path: '/messages/{id}', method: 'GET', handle: messagePage },
  { path: '/canaries', method: 'GET', handle: canariesPage },
  { path: '/flow-control', method: 'GET', handle: flowControlPage },
  { path: '/spend', method: 'GET', handle: spendPage },
  { path: '/policies', method: 'GET', handle: policiesPage },
  { path: '/policies/{id}', method: 'GET', handle: policyPage },
  { path: '/policies/{id}', method: 'POST', hasForm: true, handle: dryRun },
  { path: '/plans/{id}', method: 'GET', handle: planPage },
  { path: '/plans/{id}', method: 'POST', hasForm: true, handle: decidePlan },
  { path: '/audit', method: 'GET', handle: auditPage },
  { path: '/audit/verify', method: 'GET', handle: verifyPage },
  { path: '/configuration', method: 'GET', handle: configurationPage },
  { path: '/search', method: 'GET', handle: searchPage },
  { path: '/sources', method: 'GET', handle: sourcesPage },
  ...PAUSE_ROUTES,
  ...SIGN_IN_ROUTES,
  ...TOUR_ROUTES,
  ...ASSET_ROUTES,
];
