/** Frame of every page: navigation, caller, the page itself, and links. Works without a script. */
import { formatSpan } from '../../api/format.ts';
import { time, type Cell, type Html } from '../../show/cell.ts';
import { html } from '../../show/html.ts';
import { SCRIPT, STYLE_SHEET } from './assets.ts';

/** Content security policy: style sheet and script of the daemon itself, forms to itself, and nothing else. */
export const PAGE_CSP = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const SECTIONS = [
  { path: '/', title: 'Now' },
  { path: '/incidents', title: 'Incidents' },
  { path: '/dead-letters', title: 'Dead letters' },
  { path: '/messages', title: 'Messages' },
  { path: '/canaries', title: 'Canaries' },
  { path: '/flow-control', title: 'Flow control' },
  { path: '/spend', title: 'Spend' },
  { path: '/policies', title: 'Policies' },
  { path: '/audit', title: 'Audit' },
  { path: '/sources', title: 'Sources' },
  { path: '/configuration', title: 'Configuration' },
] as const;

export type SectionPath = (typeof SECTIONS)[number]['path'];

/** Reader of a page. */
export interface Viewer {
  /** Absent for anonymous readers. */
  readonly by?: string;
  readonly role?: string;
  /** Token of forms; absent for readers who cannot send any. */
  readonly token?: string;
  /** True if the reader signed in with a session, which can be ended. */
  readonly hasSession: boolean;
  readonly canSignIn: boolean;
}

export interface PageLink {
  readonly label: string;
  readonly href: string;
}

export interface Frame {
  /** Title in the window and in the heading. */
  readonly title: string;
  /** Title in the window, if it differs. */
  readonly windowTitle?: string;
  /** Section of the page, which the navigation marks. */
  readonly section?: SectionPath;
  readonly viewer: Viewer;
  readonly version: string;
  /** Replica that responds; absent if there is only one process. */
  readonly replica?: string;
  readonly at: number;
  readonly startedAt: number;
  readonly links: readonly PageLink[];
  /** Path and query of the page itself, without `refresh`. */
  readonly address: string;
  /** Seconds after which the page reloads itself; absent: never. */
  readonly refreshSeconds?: number;
  /** True for pages that must not reload themselves, such as a form. */
  readonly isStill?: true;
  /** Address to open at once. */
  readonly continueAt?: string;
}

const ICON =
  "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E%3Crect%20width='16'%20height='16'%20rx='3'%20fill='%230b57c2'/%3E%3Cpath%20d='M3%209h2l2-5%202%208%202-5h2'%20fill='none'%20stroke='white'%20stroke-width='1.6'/%3E%3C/svg%3E";

export function renderLayout(frame: Frame, main: Cell): string {
  const { title, windowTitle, version, replica, at, startedAt, links, refreshSeconds, continueAt } = frame;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${continueAt !== undefined && html`<meta http-equiv="refresh" content="0; url=${continueAt}" />`}
        ${
          refreshSeconds !== undefined &&
          html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>`
        }
        <meta name="description" content="${title}: messages, workflow runs, and policies of the accounts of opsd" />
        <title>${windowTitle ?? title} · opsd</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${STYLE_SHEET.path}" />
        <script src="${SCRIPT.path}" defer></script>
      </head>
      <body data-refresh="${refreshSeconds}">
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">${navigation(frame)} ${who(frame)}</header>
        <main id="main" class="page">
          <div class="head">
            <h1>${title}</h1>
            <p>as of ${time(at)} <span class="sub inline" data-zone></span></p>
            ${frame.isStill !== true && refreshLink(frame)}
          </div>
          ${main}
        </main>
        <footer class="page foot">
          <p>opsd ${version} · up ${formatSpan(at - startedAt)}${replica !== undefined && ` · replica ${replica}`}</p>
          <ul class="links">
            ${[...OWN_LINKS, ...links].map(link)}
          </ul>
        </footer>
      </body>
    </html> `.toString();
}

const OWN_LINKS: readonly PageLink[] = [
  { label: 'Metrics', href: '/metrics' },
  { label: 'Health', href: '/-/healthy' },
  { label: 'Readiness', href: '/-/ready' },
  { label: 'Status as JSON', href: '/api/v1/status' },
];

function navigation({ section }: Frame): Html {
  return html`<nav aria-label="Pages">
    <ul>
      ${SECTIONS.map(
        ({ path, title }) =>
          html`<li>
            ${
              path === section
                ? html`<a href="${path}" class="here" aria-current="page">${title}</a>`
                : html`<a href="${path}">${title}</a>`
            }
          </li>`,
      )}
    </ul>
  </nav>`;
}

function who({ viewer: { by, role, token, hasSession, canSignIn }, address }: Frame): Html {
  if (by === undefined) {
    return html`<p class="who">
      ${canSignIn ? html`<a href="/sign-in?next=${encodeURIComponent(address)}">Sign in</a>` : 'Read-only'}
    </p>`;
  }
  return html`<div class="who">
    <span>${by} <span class="faint">${role}</span></span>
    ${
      hasSession &&
      html`<form method="post" action="/sign-out">
        <input type="hidden" name="csrf" value="${token}" /><button class="quiet">Sign out</button>
      </form>`
    }
  </div>`;
}

const REFRESH_SECONDS = 10;

function refreshLink({ refreshSeconds, address }: Frame): Html {
  if (refreshSeconds !== undefined) {
    return html`<p class="refresh">
      <span class="state trouble" data-unreachable hidden>The daemon does not respond.</span> Reloads every
      ${refreshSeconds} s. <a href="${address}">Stop</a>
    </p>`;
  }
  const href = `${address}${address.includes('?') ? '&' : '?'}refresh=${REFRESH_SECONDS}`;
  return html`<p class="refresh"><a href="${href}">Reload every ${REFRESH_SECONDS} s</a></p>`;
}

/** Link to a page; URLs with other schemes are shown as text. */
function link(value: PageLink): Html {
  const followable = /^(https?:\/\/|\/(?!\/))/i.test(value.href);
  return followable
    ? html`<li><a href="${value.href}">${value.label}</a></li>`
    : html`<li>${value.label}: ${value.href}</li>`;
}
