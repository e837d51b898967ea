/** Page as a response: the frame around its content, for the caller of the request. */
import { withOwnCommands, type OwnCommand } from '#foundation/domain/own-command.ts';
import { mayUse, type Access, type Caller, type Role } from '../../http/access.ts';
import type { ApiDeps } from '../../api/api-deps.ts';
import { formToken } from '../../http/form-token.ts';
import type { Asked } from '../../http/http-listener.ts';
import type { Reply } from '../../http/reply.ts';
import type { Route, RouteContext } from '../../http/route.ts';
import { PAGE_CSP, renderLayout, type PageLink, type SectionPath, type Viewer } from './layout.ts';
import type { Cell, Html } from '../../show/cell.ts';
import { html } from '../../show/html.ts';

export interface PageDeps extends ApiDeps {
  /** Additional links on the pages. */
  readonly links: readonly PageLink[];
}

export type PageRoute = Route<PageDeps>;
export type PageContext = RouteContext<PageDeps>;
/** Request of a page that may have no route. */
export type PageRequest = Omit<PageContext, 'id'>;

interface Page {
  readonly title: string;
  readonly windowTitle?: string;
  readonly section?: SectionPath;
  readonly main: Cell;
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isStill?: true;
  readonly continueAt?: string;
}

const REFRESH_SECONDS = { min: 2, max: 3_600 };

/** Headers of every page. The referrer stays within the daemon: browsers derive the origin of a form from it. */
const PAGE_HEADERS = {
  'Content-Security-Policy': PAGE_CSP,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
};

export function showPage(context: PageRequest, page: Page): Reply {
  const { deps, query } = context;
  const refresh = Number(query.get('refresh'));
  const refreshes =
    page.isStill !== true &&
    Number.isInteger(refresh) &&
    refresh >= REFRESH_SECONDS.min &&
    refresh <= REFRESH_SECONDS.max;
  const { main, status = 200, headers, ...frame } = page;
  const body = renderLayout(
    {
      ...frame,
      viewer: viewerOf(context),
      version: deps.version,
      ...(deps.replica !== undefined && { replica: deps.replica.name }),
      at: deps.clock.now(),
      startedAt: deps.startedAt,
      links: deps.links,
      address: addressOf(context),
      ...(refreshes && { refreshSeconds: refresh }),
    },
    main,
  );
  const all = { ...PAGE_HEADERS, ...headers };
  return { status, contentType: 'text/html; charset=utf-8', body, headers: all, compress: true };
}

/** Redirect after a form. */
export function goTo(path: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 303, contentType: 'text/plain; charset=utf-8', body: '', headers: { ...headers, Location: path } };
}

function viewerOf({ caller, access }: { readonly caller: Caller | undefined; readonly access: Access }): Viewer {
  return {
    ...(caller !== undefined && { by: caller.by, role: caller.role, token: formToken(caller) }),
    hasSession: caller?.session !== undefined,
    canSignIn: canSignIn(access),
  };
}

/** Returns true if the configuration has users or tokens. */
export function canSignIn(access: Access): boolean {
  return !access.isLocal && (access.tokens.length > 0 || access.users().size > 0);
}

/** Path and query of the page, without `refresh`. */
export function addressOf({ path, query }: Pick<Asked, 'path' | 'query'>): string {
  const rest = new URLSearchParams(query);
  rest.delete('refresh');
  return rest.size === 0 ? path : `${path}?${rest.toString()}`;
}

/** Returns data with the commands in its texts as they run on the daemon's machine. */
export function withCommands<T>({ deps }: PageContext, value: T): T {
  return withOwnCommands(value, commandOf({ deps }));
}

export function commandOf({ deps }: Pick<PageContext, 'deps'>): OwnCommand {
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
