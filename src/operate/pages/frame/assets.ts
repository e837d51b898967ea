/** Style sheet and script of the pages, at addresses with a hash of their content, so that browsers may cache them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Route } from '../../http/route.ts';
import { STYLE } from './style.ts';

interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

function asset(extension: string, contentType: string, body: string): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return { path: `/assets/opsd-${hash}.${extension}`, contentType: `${contentType}; charset=utf-8`, body };
}

export const STYLE_SHEET = asset('css', 'text/css', STYLE);
export const SCRIPT = asset(
  'js',
  'text/javascript',
  readFileSync(new URL('script.js', import.meta.url), { encoding: 'utf8' }),
);

export const ASSET_ROUTES: readonly Route<unknown>[] = [STYLE_SHEET, SCRIPT].map(({ path, contentType, body }) => ({
  path,
  method: 'GET',
  isPublic: true,
  handle: () => ({
    status: 200,
    contentType,
    body,
    headers: { 'Cache-Control': 'public, max-age=31536000, immutable' },
    compress: true,
  }),
}));
