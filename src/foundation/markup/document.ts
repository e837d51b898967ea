/** Skeleton of the pages of the daemon and of the emulator: document, style sheet, and headers. */
import { createHash } from 'node:crypto';
import type { Cell, Html } from './cell.ts';
import { html } from './html.ts';
import { STYLE } from './style.ts';

interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** File at an address with a hash of its content, so that browsers may cache it. */
export function asset(extension: string, contentType: string, body: string): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return { path: `/assets/opsd-${hash}.${extension}`, contentType: `${contentType}; charset=utf-8`, body };
}

export const ASSET_HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

export const STYLE_SHEET = asset('css', 'text/css', STYLE);

/**
 * Headers of every page. The content security policy allows the style sheet and `own` of the server itself, forms to
 * itself, and nothing else. The referrer stays within the server: browsers derive the origin of a form from it.
 */
export function pageHeaders(own: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    ...own,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'same-origin',
  };
}

const ICON =
  "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E%3Crect%20width='16'%20height='16'%20rx='3'%20fill='%230b57c2'/%3E%3Cpath%20d='M3%209h2l2-5%202%208%202-5h2'%20fill='none'%20stroke='white'%20stroke-width='1.6'/%3E%3C/svg%3E";

interface Document {
  readonly title: string;
  readonly description: string;
  /** Further elements of the head. */
  readonly head?: Cell;
  /** Seconds until the script reloads the page. */
  readonly refresh?: number | undefined;
  readonly body: Cell;
}

export function documentHtml({ title, description, head, refresh, body }: Document): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="description" content="${description}" />
        <title>${title}</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${STYLE_SHEET.path}" />
        ${head}
      </head>
      <body data-refresh="${refresh}">
        <a class="skip" href="#main">Skip to the content</a>
        ${body}
      </body>
    </html> `;
}
