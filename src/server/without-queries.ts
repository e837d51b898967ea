/** Queries of URLs may carry tokens, and what is answered is shown to whoever can reach the address. */

const QUERY = /(\bhttps?:\/\/[^\s?#"'<>]+)[?#][^\s"'<>]*/gi;

/** The same value; every URL in its texts ends before its query. */
export function withoutQueries<T>(value: T): T {
  return strip(value) as T;
}

function strip(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(QUERY, '$1');
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, strip(inner)]));
}
