/** Page as a response: the frame around its content, for the caller of the request. Works without a script. */
import { shellWord, withOwnCommands, type OwnCommand } from '#foundation/domain/own-command.ts';
import { mayUse, type Access, type Role } from '../../http/access.ts';
import type { ApiDeps } from '../../api/api-deps.ts';
import { formatSpan } from '../../api/format.ts';
import { formToken } from '../../http/form-token.ts';
import type { ListenerRequest } from '../../http/http-listener.ts';
import type { Reply } from '../../http/reply.ts';
import type { Route, RouteContext } from '../../http/route.ts';
import { timePiece, type Cell, type Html } from '#foundation/markup/cell.ts';
import { documentHtml, pageHeaders } from '#foundation/markup/document.ts';
import { html } from '#foundation/markup/html.ts';
import { choice } from '#foundation/markup/menu.ts';
import type { Tour } from '../../show/tour.ts';
import { SCRIPT } from './assets.ts';
import { tourPiece } from './tour.ts';

interface PageLink {
  readonly label: string;
  readonly href: string;
}

export interface PageDeps extends ApiDeps {
  /** Additional links on the pages. */
  readonly links: readonly PageLink[];
  readonly tour?: Tour | undefined;
}

export type PageRoute = Route<PageDeps>;
export type PageContext = RouteContext<PageDeps>;
/** Request of a page that may have no route. */
export type PageRequest = Omit<PageContext, 'id'>;

const GROUPS = [
  [
    { path: '/', title: 'Now' },
    { path: '/incidents', title: 'Incidents' },
    { path: '/dead-letters', title: 'Dead letters' },
    { path: '/messages', title: 'Messages' },
  ],
  [
    { path: '/policies', title: 'Policies' },
    { path: '/flow-control', title: 'Flow control' },
    { path: '/spend', title: 'Spend' },
    { path: '/canaries', title: 'Canaries' },
  ],
  [
    { path: '/audit', title: 'Audit' },
    { path: '/sources', title: 'Sources' },
    { path: '/configuration', title: 'Configuration' },
  ],
] as const;

type Section = (typeof GROUPS)[number][number]['path'];

/** Sections that no account limits. */
const OF_ALL: readonly Section[] = ['/audit', '/configuration'];

interface Page {
  /** Title in the window and in the heading. */
  readonly title: string;
  /** Title in the window, if it differs. */
  readonly windowTitle?: string;
  /** Section of the page, which the navigation marks. */
  readonly section?: Section;
  /** Heading, if it is not the title. */
  readonly heading?: Cell;
  /** Sentence below the heading. */
  readonly lead?: Cell;
  /** Choices of the page in its head, such as a period. */
  readonly tools?: Cell;
  readonly main: Cell;
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** True for pages that must not reload themselves, such as a form. */
  readonly isStill?: true;
  /** Address to open at once. */
  readonly continueAt?: string;
}

const PAGE_HEADERS = pageHeaders(["script-src 'self'", "connect-src 'self'"]);

export function showPage(context: PageRequest, page: Page): Reply {
  return {
    status: page.status ?? 200,
    contentType: 'text/html; charset=utf-8',
    body: layout(context, page).toString(),
    headers: { ...PAGE_HEADERS, ...page.headers },
    compress: true,
  };
}

function layout(context: PageRequest, page: Page): Html {
  const { version, replica, startedAt, links, clock, tour } = context.deps;
  const { title, windowTitle, continueAt } = page;
  const at = clock.now();
  const refreshSeconds = page.isStill === true ? undefined : refreshOf(context.query);
  return documentHtml({
    title: `${windowTitle ?? title} · opsd`,
    description: `${title}: messages, workflow runs, and policies of the accounts of opsd`,
    head: html`${continueAt !== undefined && html`<meta http-equiv="refresh" content="0; url=${continueAt}" />`}
      ${
        refreshSeconds !== undefined &&
        html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>`
      }
      <script src="${SCRIPT.path}" defer></script>`,
    refresh: refreshSeconds,
    body: html`<header class="top">${navigation(page, accountOf(context))} ${SEARCH} ${who(context)}</header>
      <main id="main" class="page">
        ${tour !== undefined && tourPiece(tour, context.caller, addressOf(context))}
        <div class="head">
          <h1>${page.heading ?? title}</h1>
          <div class="tools">
            ${page.section !== undefined && !OF_ALL.includes(page.section) && accountMenu(context)} ${page.tools}
            <span>${timePiece(at)} <span data-zone></span></span>
            ${page.isStill !== true && refreshLink(addressOf(context), refreshSeconds)}
          </div>
        </div>
        ${page.lead !== undefined && html`<p class="lead">${page.lead}</p>`} ${page.main}
      </main>
      <footer class="page foot">
        <p>
          opsd ${version} · up ${formatSpan(at - startedAt)}${replica !== undefined && ` · replica ${replica.name}`}
        </p>
        ${commandsHint(context)}
        <ul class="links">
          ${[...OWN_LINKS, ...links].map(link)}
        </ul>
      </footer>`,
  });
}

/** Once for all commands of the pages, in place of an option in each of them. */
function commandsHint(context: PageRequest): Html | undefined {
  const { socket } = context.deps;
  if (socket === undefined || context.caller === undefined || !mayUse(context, 'operator')) return undefined;
  return html`<p>Before commands: <code>export OPSD_SOCKET=${shellWord(socket)}</code></p>`;
}

const OWN_LINKS: readonly PageLink[] = [
  { label: 'Metrics', href: '/metrics' },
  { label: 'Health', href: '/-/healthy' },
  { label: 'Readiness', href: '/-/ready' },
  { label: 'Status as JSON', href: '/api/v1/status' },
];

const SEARCH = html`<form method="get" action="/search" class="find" role="search" aria-label="Everything">
  <input name="q" type="search" placeholder="Find an id, host, label…" aria-label="Find an id, host or label" />
</form>`;

/** @param account that the pages show; undefined: all */
function navigation({ section }: Page, account: string | undefined): Html {
  const query = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
  return html`<nav aria-label="Pages">
    ${GROUPS.map(
      (group) =>
        html`<ul>
          ${group.map(({ path, title }) =>
            path === section
              ? html`<li><a href="${path}${query}" class="here" aria-current="page">${title}</a></li>`
              : html`<li><a href="${path}${query}">${title}</a></li>`,
          )}
        </ul>`,
    )}
  </nav>`;
}

/** Returns true for what belongs to the account that the page shows, or to none. */
export function isShown(context: Pick<PageRequest, 'deps' | 'query'>): (row: { readonly account?: string }) => boolean {
  const wanted = accountOf(context);
  return ({ account }) => wanted === undefined || account === undefined || account === wanted;
}

/** Account that the page shows; undefined: all, or the only one. */
export function accountOf({ deps, query }: Pick<PageRequest, 'deps' | 'query'>): string | undefined {
  const name = query.get('account');
  return deps.accounts.length > 1 ? deps.accounts.find((account) => account.name === name)?.name : undefined;
}

function accountMenu(context: PageRequest): Html | undefined {
  const names = context.deps.accounts.map(({ name }) => name);
  if (names.length < 2) return undefined;
  return choice(context, 'account', [
    { value: undefined, title: 'all accounts' },
    ...names.map((name) => ({ value: name, title: name })),
  ]);
}

function who(context: PageRequest): Html {
  const { caller, access } = context;
  if (caller === undefined) {
    return html`<p class="who">
      ${canSignIn(access) ? html`<a href="/sign-in?next=${encodeURIComponent(addressOf(context))}">Sign in</a>` : 'Read-only'}
    </p>`;
  }
  return html`<div class="who">
    <span>${caller.by} <span class="faint">${caller.role}</span></span>
    ${
      caller.session !== undefined &&
      html`<form method="post" action="/sign-out">
        <input type="hidden" name="csrf" value="${formToken(caller)}" /><button class="quiet">Sign out</button>
      </form>`
    }
  </div>`;
}

const REFRESH_SECONDS = { standard: 10, min: 2, max: 3_600 };

/** Seconds after which the page reloads itself; undefined: never. */
function refreshOf(query: URLSearchParams): number | undefined {
  const seconds = Number(query.get('refresh'));
  const isValid = Number.isInteger(seconds) && seconds >= REFRESH_SECONDS.min && seconds <= REFRESH_SECONDS.max;
  return isValid ? seconds : undefined;
}

function refreshLink(address: string, seconds: number | undefined): Html {
  const { standard } = REFRESH_SECONDS;
  if (seconds === undefined) {
    const href = `${address}${address.includes('?') ? '&' : '?'}refresh=${standard}`;
    return html`<a href="${href}">Reload every ${standard} s</a>`;
  }
  return html`<span>
    <span class="state trouble" data-unreachable hidden>The daemon does not respond.</span> Reloads every ${seconds} s.
    <a href="${address}">Stop</a>
  </span>`;
}

/** Link to a page; URLs with other schemes are shown as text. */
function link(value: PageLink): Html {
  const followable = /^(https?:\/\/|\/(?!\/))/i.test(value.href);
  return followable
    ? html`<li><a href="${value.href}">${value.label}</a></li>`
    : html`<li>${value.label}: ${value.href}</li>`;
}

/** Redirect after a form. */
export function goTo(path: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 303, contentType: 'text/plain; charset=utf-8', body: '', headers: { ...headers, Location: path } };
}

/** Returns true if the configuration has users or tokens. */
export function canSignIn(access: Access): boolean {
  return !access.isLocal && (access.tokens.length > 0 || access.users().size > 0);
}

/** Path and query of the page, without `refresh`. */
export function addressOf({ path, query }: Pick<ListenerRequest, 'path' | 'query'>): string {
  const rest = new URLSearchParams(query);
  rest.delete('refresh');
  return rest.size === 0 ? path : `${path}?${rest.toString()}`;
}

/** Returns data with the commands in its texts as they run on the daemon's machine. */
export function withCommands<T>({ deps }: PageContext, value: T): T {
  return withOwnCommands(value, pageCommand({ deps }));
}

export function pageCommand({ deps }: Pick<PageContext, 'deps'>): OwnCommand {
  return deps.command ?? ((text) => `opsd ${text}`);
}

/** Form that only readers with the role see; `undefined` for others. */
export function formFor(
  { caller }: Pick<PageContext, 'caller'>,
  { role, action, label, content }: FormOptions,
): Html | undefined {
  if (caller === undefined || !mayUse({ caller }, role)) return undefined;
  return html`<form method="post" action="${action}" class="act" aria-label="${label}">
    <input type="hidden" name="csrf" value="${formToken(caller)}" />${content}
  </form>`;
}

interface FormOptions {
  readonly role: Role;
  readonly action: string;
  /** Name of the form, for screen readers. */
  readonly label: string;
  readonly content: Cell;
}
