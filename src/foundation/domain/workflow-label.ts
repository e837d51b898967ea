/**
 * A workflow in the words of labels: few in number, with nothing in it that belongs to one run or one person; and what
 * is recognised as an identifier.
 */

/** Host and path of a workflow's URL, with identifiers as `:id`; no query, no user info. */
export function workflowLabel(workflowUrl: string): string {
  const url = URL.parse(workflowUrl);
  if (url === null || url.host === '') return 'other';
  const path = templateOf(url.pathname);
  return path === '/' ? url.host : `${url.host}${path}`;
}

/** A path with identifiers as `:id`. Parameters of a segment (`;v=2`) go as a query does. */
export function templateOf(path: string): string {
  return path
    .split('/')
    .map((segment) => segment.replace(/;.*/, ''))
    .map((segment) => (isIdentifier(segment) ? ':id' : segment))
    .join('/');
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Numbers, uuids, long hex, addresses, and tokens of letters and digits, a prefix such as `run_` included. */
export function isIdentifier(segment: string): boolean {
  if (/^\d+$/.test(segment) || UUID.test(segment) || /^[0-9a-f]{12,}$/i.test(segment)) return true;
  if (segment.includes('@') || /%40/.test(segment)) return true;
  // Numbers as people write them: telephones, cards, accounts; and what a prefix makes of them.
  if (/^\+?[\d.()-]{7,}$/.test(segment) || /^[a-z]+[-_]\d{5,}$/i.test(segment)) return true;
  if (segment.length >= 64) return true;
  return segment.length >= 16 && /^[\w-]+$/.test(segment) && looksRandom(segment);
}

/** `send-invoice-reminder-2` is a name; `9bX2kQ7LmN0pRs4T`, `run_8f3kq02mzp71` and `V1StGXR8_Z5jdHi6B-myT` are not. */
function looksRandom(token: string): boolean {
  const parts = token.split(/[-_]/);
  if (parts.some((part) => part.length >= 12 && /\d/.test(part))) return true;
  const digitGroups = token.match(/\d+/g)?.length ?? 0;
  return digitGroups >= 2 && /[a-z]/.test(token) && /[A-Z]/.test(token);
}
