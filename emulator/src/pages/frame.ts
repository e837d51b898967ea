/** Frame of the pages: navigation, choice of the account, and errors. Every page works without a script. */
import { faint, timePiece, type Cell, type Html } from '#foundation/markup/cell.ts';
import { documentHtml, pageHeaders } from '#foundation/markup/document.ts';
import { html } from '#foundation/markup/html.ts';
import { choice } from '#foundation/markup/menu.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EmulatorControl } from '../control/control.ts';
import type { JsonStyle } from '../http/message-json.ts';
import type { ApiResponse, ReceivedRequest } from '../http/route.ts';
import type { MatchRoute } from '../http/router.ts';
import type { AccountBook } from '../state/account-book.ts';
import type { AccountState } from '../state/account-state.ts';
import type { Account } from '../state/account.ts';
import { ApiError } from '../state/api-error.ts';
import { PAGES_PATH } from './page-names.ts';

interface PagedService extends Pick<JsonStyle, 'headerNames'> {
  readonly accounts: AccountBook;
  readonly states: ReadonlyMap<string, AccountState>;
  readonly match: MatchRoute;
  /** Prefix of the service's own headers, such as `Svc`. */
  readonly headerPrefix: string;
}

export interface PageDeps extends Pick<JsonStyle, 'switches'> {
  readonly clock: Clock;
  /** Called at each request: a reset replaces the service. */
  readonly service: () => PagedService;
  /** Undefined when the service has no time of its own. */
  readonly control: EmulatorControl | undefined;
}

export interface PageRequest {
  readonly deps: PageDeps;
  readonly service: PagedService;
  readonly account: Account;
  readonly state: AccountState;
  /** The service's time in epoch milliseconds. */
  readonly now: number;
  readonly query: URLSearchParams;
  readonly params: ReceivedRequest['params'];
  /** Fields of a form. */
  readonly form: URLSearchParams;
  readonly callerIp: string;
}

export interface ShownPage {
  readonly title: string;
  /** Address without the query. */
  readonly path: string;
  readonly status?: number;
  /** True for a page that must not reload itself, such as a form. */
  readonly isStill?: true;
  readonly main: Cell;
}

const SECTIONS: Readonly<Record<string, string>> = {
  '/': 'Messages',
  [`${PAGES_PATH}/dead-letters`]: 'Dead letters',
  [`${PAGES_PATH}/flow-control`]: 'Flow control',
  [`${PAGES_PATH}/clock`]: 'Clock',
  [`${PAGES_PATH}/publish`]: 'Publish',
};

const HEADERS = { ...pageHeaders([]), 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' };

const REFRESH_SECONDS = 2;

/** Address of a page for the same account. */
export function pathTo({ service, account }: PageRequest, path: string, query: Record<string, string> = {}): string {
  const all = new URLSearchParams(query);
  if (service.accounts.all().length > 1) all.set('account', account.id);
  return all.size === 0 ? path : `${path}?${all.toString()}`;
}

export function redirect(path: string): ApiResponse {
  return { status: 303, headers: { Location: path } };
}

/** @param show returns the page, or the redirect after a form */
export async function answerPage(
  deps: PageDeps,
  received: ReceivedRequest,
  show: (request: PageRequest) => ShownPage | ApiResponse | Promise<ShownPage | ApiResponse>,
): Promise<ApiResponse> {
  const request = requestOf(deps, received);
  const result = await Promise.try(show, request).catch((error: unknown): ShownPage => {
    if (!(error instanceof ApiError)) throw error;
    const { status, message } = error;
    return { title: 'Not possible', path: '', status, isStill: true, main: problem(message) };
  });
  if (!('main' in result)) return result;
  return { status: result.status ?? 200, headers: HEADERS, text: layout(request, result).toString() };
}

export function problem(text: string): Html {
  return html`<p class="notice attention" role="alert">${text}</p>`;
}

function requestOf(deps: PageDeps, { query, params, body, callerIp }: ReceivedRequest): PageRequest {
  const service = deps.service();
  const form = new URLSearchParams(Buffer.from(body).toString('utf8'));
  const account = service.accounts.byId(query.get('account') ?? '') ?? service.accounts.all()[0]!;
  const state = service.states.get(account.id)!;
  return { deps, service, account, state, now: deps.clock.now(), query, params, form, callerIp };
}

function layout(request: PageRequest, { title, path, main, isStill }: ShownPage): Html {
  const { service, query, now } = request;
  const isReloaded = query.has('reload') && isStill !== true;
  const accounts = service.accounts.all().map(({ id }) => ({ value: id, title: id }));
  return documentHtml({
    title: `${title} · emulator`,
    description: `${title} of the emulator`,
    head: isReloaded && html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}" />`,
    body: html`<header class="top">
        <nav aria-label="Pages">
          <ul>
            ${Object.entries(SECTIONS).map(([to, name]) =>
              to === path
                ? html`<li><a href="${pathTo(request, to)}" class="here" aria-current="page">${name}</a></li>`
                : html`<li><a href="${pathTo(request, to)}">${name}</a></li>`,
            )}
          </ul>
        </nav>
      </header>
      <main id="main" class="page">
        <div class="head">
          <h1>${title}</h1>
          <div class="tools">
            ${path !== '' && accounts.length > 1 && choice({ path, query }, 'account', accounts)}
            <span>${timePiece(now)}</span>
            ${isStill !== true && reloadLink(path, query)}
          </div>
        </div>
        ${main}
      </main>
      <footer class="page foot">
        ${faint('Test data. Credentials and queries of URLs are hidden.')}
        <ul class="links">
          <li><a href="/-/openapi.json">Interface</a></li>
          <li><a href="/health">Health</a></li>
        </ul>
      </footer>`,
  });
}

function reloadLink(path: string, query: URLSearchParams): Html {
  const next = new URLSearchParams(query);
  const isReloaded = next.has('reload');
  if (isReloaded) next.delete('reload');
  else next.set('reload', '');
  const href = next.size === 0 ? path : `${path}?${next.toString()}`;
  return isReloaded
    ? html`<span>Reloads every ${REFRESH_SECONDS} s. <a href="${href}">Stop</a></span>`
    : html`<a href="${href}">Reload every ${REFRESH_SECONDS} s</a>`;
}
