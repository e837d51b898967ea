/** Errors as pages, for browsers. Other clients get text or JSON. */
import type { IncomingMessage } from 'node:http';
import { HttpError, type Reply } from '../../http/reply.ts';
import { addressOf, canSignIn, showPage, type PageRequest } from './page.ts';
import { html, message } from '#foundation/markup/html.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Sign in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Not possible',
  409: 'Not possible now',
  429: 'Too many requests',
  500: 'Error of the daemon',
  502: 'The service did not respond as expected',
  503: 'Not available now',
};

/** @returns undefined for requests that want no page */
export function renderError(failed: PageRequest & { readonly error: HttpError }): Reply | undefined {
  const { error, request, path, access, caller } = failed;
  if (!wantsPage(request, path)) return undefined;
  const { 'WWW-Authenticate': _challenge, ...headers } = error.headers;
  const kept = Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const signIn = `/sign-in?next=${encodeURIComponent(isRead ? addressOf(failed) : '/')}`;
  const offersSignIn = canSignIn(access) && caller === undefined && [401, 403].includes(error.status);
  // Opened at once, as a request of this page: browsers send no session cookie with a link from another site.
  const opens = error.status === 401 && isRead && request.headers.authorization === undefined;
  return showPage(failed, {
    title: TITLES[error.status] ?? 'Error',
    status: error.status,
    headers: kept,
    isStill: true,
    ...(opens && { continueAt: signIn }),
    main: html`<p class="notice attention" role="alert">${message(messageOf(error, path))}</p>
      <p>${offersSignIn && html`<a href="${signIn}">Sign in</a> · `}<a href="/">Go to the first page</a></p>`,
  });
}

/** Returns the message. Paths of the API are no help to a reader of pages, who has the navigation. */
function messageOf(error: HttpError, path: string): string {
  return error.code === 'not_found' && error.message.startsWith('Not found: ')
    ? `There is no page ${path.slice(0, 200)}. The links above lead to all pages.`
    : error.message;
}

/** Returns true if a browser asked for a page. */
function wantsPage({ headers }: IncomingMessage, path: string): boolean {
  if (/^\/(?:api|-|metrics|assets)(?:\/|$)/.test(path)) return false;
  return /\btext\/html\b/i.test(headers.accept ?? '');
}
