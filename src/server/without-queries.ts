/** What is answered is shown to whoever can reach the address. */
import { bareUrls } from '../domain/bare-urls.ts';

/** The same value; every URL in its texts begins with its host and ends before its query. */
export function withoutQueries<T>(value: T): T {
  return strip(value) as T;
}

function strip(value: unknown): unknown {
  if (typeof value === 'string') return bareUrls(value);
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, strip(inner)]));
}
