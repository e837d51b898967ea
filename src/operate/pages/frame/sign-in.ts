/** Sign-in with a user of the web configuration file, or with a token; and sign-out. */
import { allow, entrantOf, entrantOfCode, type Access } from '../../http/access.ts';
import { readForm, readOpenForm } from '../../http/form.ts';
import type { Reply } from '../../http/reply.ts';
import { setSessionCookie } from '../../http/session-cookie.ts';
import { canSignIn, goTo, showPage, type PageContext, type PageRoute } from './page.ts';
import type { Html } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

export const SIGN_IN_ROUTES: readonly PageRoute[] = [
  { path: '/sign-in', method: 'GET', isPublic: true, handle: signInPage },
  { path: '/sign-in', method: 'POST', isPublic: true, hasForm: true, handle: signIn },
  { path: '/sign-out', method: 'POST', hasForm: true, handle: signOut },
];

function signInPage(context: PageContext): Reply {
  const next = ownPath(context.query.get('next'));
  if (context.caller !== undefined) return goTo(next);
  const code = context.query.get('code');
  return code === null ? signInForm(context, { next }) : signInByCode(context, code);
}

/** A link preview, which sends HEAD, does not use the code. */
function signInByCode(context: PageContext, code: string): Reply {
  const { access, request } = context;
  const entrant =
    access.isLocal || request.method !== 'GET' ? undefined : entrantOfCode(code, access, request.socket.remoteAddress);
  if (entrant === undefined || access.isLocal) return signInForm(context, { next: '/', hasFailed: 'code' });
  return showPage(context, {
    title: 'Signed in',
    isStill: true,
    headers: { 'Set-Cookie': setSessionCookie(request, access.sessions.begin(entrant)) },
    // The next request is this page's own: browsers send no new session cookie with a link from another site.
    continueAt: '/',
    main: html`<p><a href="/">Go to the first page</a></p>`,
  });
}

async function signIn(context: PageContext): Promise<Reply> {
  const { access, request } = context;
  const form = await readOpenForm(context);
  const next = ownPath(form.get('next'));
  if (access.isLocal || !canSignIn(access)) return goTo(next);
  const given = { user: (form.get('user') ?? '').trim(), secret: form.get('secret') ?? '' };
  const entrant = await entrantOf(given, access, request.socket.remoteAddress);
  if (entrant === undefined) return signInForm(context, { next, user: given.user, hasFailed: 'secret' });
  return goTo(next, { 'Set-Cookie': setSessionCookie(request, access.sessions.begin(entrant)) });
}

async function signOut(context: PageContext): Promise<Reply> {
  const caller = allow(context, 'viewer', 'opsd');
  await readForm(context, caller);
  const { access, request } = context;
  if (!access.isLocal && caller.session !== undefined) access.sessions.end(caller.session);
  return goTo('/', { 'Set-Cookie': setSessionCookie(request, undefined) });
}

const OWN = 'http://own.invalid';

/** Path of the daemon; `/` for everything that could lead to another site. */
export function ownPath(text: string | null): string {
  const url = text?.startsWith('/') ? URL.parse(text, OWN) : null;
  const path = url?.origin === OWN ? `${url.pathname}${url.search}` : '/';
  // Without its dot, `/.//other.example` begins with a host.
  return path.startsWith('//') ? '/' : path;
}

interface SignInState {
  readonly next: string;
  readonly user?: string;
  readonly hasFailed?: 'secret' | 'code';
}

const FAILURES = {
  secret: 'The user, password or token is wrong.',
  code: 'The code of this address is wrong or was used. It signs in one browser once, on the machine of the daemon. Each start prints a new address.',
};

function signInForm(context: PageContext, { next, user, hasFailed }: SignInState): Reply {
  return showPage(context, {
    title: 'Sign in',
    isStill: true,
    status: hasFailed ? 401 : 200,
    main: html`${hasFailed && html`<p class="notice trouble" role="alert">${FAILURES[hasFailed]}</p>`}
    ${canSignIn(context.access) ? fields(context.access, next, user) : noOneCan(context.access)}`,
  });
}

function fields(access: Access, next: string, user: string | undefined): Html {
  const hasUsers = !access.isLocal && access.users().size > 0;
  const hasTokens = !access.isLocal && access.tokens.length > 0;
  const secret = !hasUsers ? 'Token' : hasTokens ? 'Password or token' : 'Password';
  return html`<form method="post" action="/sign-in" class="stack">
    <input type="hidden" name="next" value="${next}" />
    ${
      hasUsers &&
      html`<label
        >User ${hasTokens && html`<span class="sub inline">leave empty for a token</span>`}
        <input name="user" value="${user}" autocomplete="username" autocapitalize="none" spellcheck="false" />
      </label>`
    }
    <label>${secret} <input name="secret" type="password" autocomplete="current-password" required /></label>
    <button>Sign in</button>
    <p class="faint">The session ends after 12 hours, when you sign out, or when your role or password changes.</p>
  </form>`;
}

function noOneCan(access: Access): Html {
  return access.isLocal
    ? html`<p class="empty">The unix socket needs no sign-in. Its file permissions decide.</p>`
    : html`<p class="empty">
        No user or token is configured, so these pages are read-only. Add users to the web configuration file
        (<code>server.webConfigFile</code>), or tokens to <code>server.tokens</code>. This page then has a form.
      </p>`;
}
