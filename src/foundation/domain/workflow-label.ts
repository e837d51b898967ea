/** Label of a workflow: few values, without anything specific to one run or person. Also recognizes identifiers. */

/** Returns host and path of a workflow's URL with identifiers as `:id`, without query and user info. */
export function workflowLabel(workflowUrl: string): string {
  const url = URL.parse(workflowUrl);
  if (url === null || url.host === '') return 'other';
  const path = templateOf(url.pathname);
  return path === '/' ? url.host : `${url.host}${path}`;
}

/** Returns a path with identifiers as `:id`. Parameters of a segment (`;v=2`) are removed. */
export function templateOf(path: string): string {
  return path
    .split('/')
    .map((segment) => segment.replace(/;.*/, ''))
    .map((segment) => (isIdentifier(segment) ? ':id' : segment))
    .join('/');
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/**
 * Returns true for numbers, UUIDs, long hex, e-mail addresses, and tokens of letters and digits, with or without a
 * prefix such as `run_`.
 */
export function isIdentifier(segment: string): boolean {
  if (/^\d+$/.test(segment) || UUID.test(segment) || /^[0-9a-f]{12,}$/i.test(segment)) return true;
  if (segment.includes('@') || /%40/.test(segment)) return true;
  // Formatted numbers such as telephone, card and account numbers, and numbers with a prefix.
  if (/^\+?[\d.()-]{7,}$/.test(segment) || /^[a-z]+[-_]\d{5,}$/i.test(segment)) return true;
  if (segment.length >= 64) return true;
  return segment.length >= 16 && /^[\w-]+$/.test(segment) && looksRandom(segment);
}

/**
 * Returns true for a random token. `send-invoice-reminder-2` is a name; `9bX2kQ7LmN0pRs4T`, `run_8f3kq02mzp71` and
 * `V1StGXR8_Z5jdHi6B-myT` are not.
 */
function looksRandom(token: string): boolean {
  const parts = token.split(/[-_]/);
  if (parts.some((part) => part.length >= 12 && /\d/.test(part))) return true;
  const digitGroups = token.match(/\d+/g)?.length ?? 0;
  return digitGroups >= 2 && /[a-z]/.test(token) && /[A-Z]/.test(token);
}
