/** Route, and the context of its handler. */
import type { Access, Caller } from './access.ts';
import type { ListenerRequest } from './http-listener.ts';
import type { Reply } from './reply.ts';

export interface RouteContext<Deps> extends ListenerRequest {
  readonly deps: Deps;
  readonly access: Access;
  /** Undefined for an anonymous caller who may read. */
  readonly caller: Caller | undefined;
  /** Value of `{id}`. */
  readonly id: string;
}

export interface Route<Deps> {
  /** Exact path, or a path with `{id}` as its last part. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** True for routes that need no credentials: the sign-in, and files without content of the service. */
  readonly isPublic?: true;
  /** True for routes with forms: their handler checks the form token. */
  readonly hasForm?: true;
  readonly handle: (context: RouteContext<Deps>) => Reply | Promise<Reply>;
}

const PLACEHOLDER = '{id}';
const MAX_ID = 400;

/** @returns the value of `{id}`, or an empty text; undefined if the path differs */
export function matchPath(pattern: string, path: string): string | undefined {
  if (!pattern.endsWith(PLACEHOLDER)) return pattern === path ? '' : undefined;
  const start = pattern.slice(0, -PLACEHOLDER.length);
  const rest = path.slice(start.length);
  if (!path.startsWith(start) || rest === '' || rest.includes('/') || rest.length > MAX_ID) return undefined;
  try {
    return decodeURIComponent(rest);
  } catch {
    return undefined;
  }
}
