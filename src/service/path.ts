/**
 * Paths of the service. A destination of publish and trigger is appended as it is, query included; every other value
 * is one encoded segment that cannot climb out of its place.
 */
import { checkText, checkUrl } from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

/** One path segment: a slash inside is encoded, `.` and `..` are refused. */
export function pathSegment(operation: string, name: string, value: unknown): string {
  const text = checkText(operation, name, value);
  if (text === '.' || text === '..') {
    throw new InvalidRequestError(operation, `${name} must not be ${text}, which would be another path`);
  }
  return encodeURIComponent(text);
}

/** Where a message goes: a URL as it is, or the name of a URL Group as one segment. */
export function destinationPath(operation: string, name: string, value: unknown): string {
  if (typeof value === 'string' && /^https?:\/\//.test(value)) return checkUrl(operation, name, value);
  if (typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
    throw new InvalidRequestError(operation, `${name} must begin with http:// or https://, or name a URL Group`);
  }
  return pathSegment(operation, name, value);
}

/** A destination for error texts: paths, queries and user names of URLs may be secret, the origin is not. */
export function shownDestination(value: string): string {
  const url = URL.parse(value);
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')
    ? encodeURIComponent(value)
    : `${url.origin}/…`;
}
