/**
 * Builds paths of the service. The destination of publish and trigger is appended unchanged, with its query. Every
 * other value is one encoded segment that cannot leave its place.
 */
import { checkText, checkUrl } from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

/** Returns one path segment. A slash inside is encoded; `.` and `..` are rejected. */
export function pathSegment(operation: string, name: string, value: unknown): string {
  const text = checkText(operation, name, value);
  if (text === '.' || text === '..') {
    throw new InvalidRequestError(operation, `${name} must not be ${text}, which would be another path`);
  }
  return encodeURIComponent(text);
}

/** Returns the destination of a message: a URL unchanged, or the name of a URL Group as one segment. */
export function destinationPath(operation: string, value: unknown): string {
  if (typeof value === 'string' && /^https?:\/\//.test(value)) return checkUrl(operation, 'destination', value);
  if (typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
    throw new InvalidRequestError(
      operation,
      'destination must start with http:// or https://, or be the name of a URL Group',
    );
  }
  return pathSegment(operation, 'destination', value);
}

/**
 * Returns a destination for error texts: only the origin, because paths, queries and user names of URLs may be secret.
 */
export function shownDestination(value: string): string {
  const url = URL.parse(value);
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')
    ? encodeURIComponent(value)
    : `${url.origin}/…`;
}
