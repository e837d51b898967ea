/** Finds the route of a request line. The target is not normalized, so destinations in a path stay unchanged. */
import { ApiError } from '../state/api-error.ts';
import type { Route } from './route.ts';

interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  /** Query without the question mark. Empty for a route whose last parameter includes the query. */
  readonly query: string;
}

export type MatchRoute = (method: string, target: string) => Match;

interface Compiled {
  readonly route: Route;
  readonly segments: readonly string[];
  /** Name and prefix of a parameter that takes the rest of the path. */
  readonly rest?: { readonly name: string; readonly prefix: string };
}

/**
 * @returns a function that throws an ApiError: 404 for an unknown path, 405 for a method that the path does not
 * support, 400 for a segment or a query that cannot be decoded
 */
export function createRouter(routes: readonly Route[]): MatchRoute {
  const compiled = routes.map(compile);
  return (method, target) => {
    const [path, query] = cut(target);
    const segments = path.split('/');
    const allowed: string[] = [];
    for (const candidate of compiled) {
      const raw =
        candidate.rest === undefined
          ? matchSegments(candidate.segments, segments)
          : target.startsWith(candidate.rest.prefix)
            ? { [candidate.rest.name]: target.slice(candidate.rest.prefix.length) }
            : undefined;
      if (raw === undefined) continue;
      if (candidate.route.method !== method) {
        allowed.push(candidate.route.method);
        continue;
      }
      const whole = candidate.rest !== undefined;
      if (!whole) for (const pair of query.split('&')) decoded('the query', pair);
      return { route: candidate.route, params: whole ? raw : decodeAll(raw), query: whole ? '' : query };
    }
    if (allowed.length === 0) throw new ApiError(404, `${path} is not a path of this service`);
    throw new ApiError(405, `${path} does not support ${method}`, { Allow: [...new Set(allowed)].join(', ') });
  };
}

function compile(route: Route): Compiled {
  const star = route.pattern.indexOf('/*');
  if (star === -1) return { route, segments: route.pattern.split('/') };
  const prefix = route.pattern.slice(0, star + 1);
  return { route, segments: [], rest: { name: route.pattern.slice(star + 2), prefix } };
}

function cut(target: string): readonly [path: string, query: string] {
  const mark = target.indexOf('?');
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
}

function matchSegments(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index]!;
    if (part.startsWith(':') && segment !== '') params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}

function decodeAll(raw: Readonly<Record<string, string>>): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    params[name] = decoded(name, value);
  }
  return params;
}

function decoded(what: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError(400, `${what} is not correctly percent-encoded: ${text.slice(0, 200)}`);
  }
}
