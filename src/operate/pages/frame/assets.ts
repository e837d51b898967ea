/** Style sheet and script of the pages. */
import { readFileSync } from 'node:fs';
import { asset, ASSET_HEADERS, STYLE_SHEET } from '#foundation/markup/document.ts';
import type { Route } from '../../http/route.ts';

export const SCRIPT = asset(
  'js',
  'text/javascript',
  readFileSync(new URL('script.js', import.meta.url), { encoding: 'utf8' }),
);

export const ASSET_ROUTES: readonly Route<unknown>[] = [STYLE_SHEET, SCRIPT].map(({ path, contentType, body }) => ({
  path,
  method: 'GET',
  isPublic: true,
  handle: () => ({ status: 200, contentType, body, headers: ASSET_HEADERS, compress: true }),
}));
