/** Addresses of the pages. */

export function policyPath(name: string): string {
  return `/policies/${encodeURIComponent(name)}`;
}

export function planPath(id: string): string {
  return `/plans/${encodeURIComponent(id)}`;
}

/** Returns the address of the element that a problem names: on the first page, or on the page of its kind. */
export function problemPath(anchor: string): string {
  if (anchor.startsWith('policy-')) return policyPath(anchor.slice('policy-'.length));
  return /^(?:source|reconciliation)-/.test(anchor) ? `/sources#${encodeURIComponent(anchor)}` : `#${anchor}`;
}
