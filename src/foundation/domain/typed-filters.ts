/** Filters on destinations and statuses as people type them: a host, the beginning of a URL, `503`, `5xx`. Pure. */

/** Status or class of statuses. */
export const STATUS_FORM = /^(?:\d{3}|[1-5]xx)$/i;

/** @param wanted has `STATUS_FORM` */
export function statusFilter(wanted: string): (status: number) => boolean {
  const first = Number(wanted[0]);
  if (/xx$/i.test(wanted)) return (status) => Math.floor(status / 100) === first;
  return (status) => status === Number(wanted);
}

/**
 * Returns a filter of URLs. A host matches whole, with any path and, if it names none, any port. With a path, the text is
 * the beginning of the URL. A text without a scheme matches every scheme.
 */
export function urlFilter(wanted: string): (url: string) => boolean {
  const text = comparable(wanted.trim(), hasScheme(wanted.trim()));
  const isHost = !/[/?#]/.test(text.replace(/^\w[\w+.-]*:\/\//, ''));
  return (url) => {
    const given = comparable(url, hasScheme(text));
    if (!given.startsWith(text)) return false;
    return !isHost || given.length === text.length || '/?#:'.includes(given[text.length]!);
  };
}

export function hasScheme(url: string): boolean {
  return /^\w[\w+.-]*:\/\//.test(url);
}

/** Returns the URL with its host in lower case and without user info, like the hosts on the pages. */
function comparable(url: string, withScheme: boolean): string {
  const scheme = url.indexOf('://');
  const start = scheme === -1 ? 0 : scheme + 3;
  let end = start;
  while (end < url.length && !'/?#'.includes(url[end]!)) end += 1;
  const authority = url.slice(start, end);
  const host = authority.slice(authority.lastIndexOf('@') + 1).toLowerCase();
  return `${withScheme ? url.slice(0, start).toLowerCase() : ''}${host}${url.slice(end)}`;
}
