import type { ApiRoute } from './api-deps.ts';
import { apiDocument } from './openapi/document.ts';

/** Route of the API's document, which is made at its first request. It has no data, so it is not redacted. */
export function openApiRoute(routes: () => readonly ApiRoute[]): ApiRoute {
  let made: { readonly version: string; readonly body: string } | undefined;
  return {
    path: '/api/v1/openapi.json',
    method: 'GET',
    handle: ({ deps: { version } }) => {
      if (made?.version !== version) {
        made = { version, body: `${JSON.stringify(apiDocument(routes(), version), undefined, 2)}\n` };
      }
      return { status: 200, contentType: 'application/json; charset=utf-8', body: made.body, compress: true };
    },
  };
}
