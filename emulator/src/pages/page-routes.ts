/** Routes of the pages. The pages are loaded at the first request for one, so a start does not wait for them. */
import type { Route } from '../http/route.ts';
import type { PageDeps } from './frame.ts';
import { PAGE_NAMES } from './page-names.ts';

export function pageRoutes(deps: PageDeps): readonly Route[] {
  return PAGE_NAMES.map((name) => {
    const [method, pattern] = name.split(' ') as ['GET' | 'POST', string];
    return {
      api: 'control',
      operation: `page ${name}`,
      method,
      pattern,
      sites: method === 'GET' ? 'links' : 'own',
      handle: async (request) => (await import('./pages.ts')).PAGES[name](deps, request),
    };
  });
}
