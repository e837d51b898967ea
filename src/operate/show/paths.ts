/** Addresses of the pages, and links to them. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { link, type Piece } from './cell.ts';

/** Page of a policy. That of a manual plan is the plan's. */
export function policyPath(name: string): string {
  const plan = manualPlanId(name);
  if (plan !== undefined) return planPath(plan);
  return `/policies/${encodeURIComponent(name)}`;
}

export function policyLink(name: string): Piece {
  return link(policyPath(name), name);
}

export function planPath(id: string): string {
  return `/plans/${encodeURIComponent(id)}`;
}

export function incidentPath(id: string): string {
  return `/incidents/${encodeURIComponent(id)}`;
}

export function deadLetterPath({ id, account }: { readonly id: string; readonly account: string }): string {
  return `/dead-letters/${encodeURIComponent(id)}?account=${encodeURIComponent(account)}`;
}

/** @param id of a message or a run */
export function messagePath(id: string, account: string): string {
  return `/messages/${encodeURIComponent(id)}?account=${encodeURIComponent(account)}`;
}

/** Returns the address of the element that a problem names: on the first page, or on the page of its kind. */
export function problemPath(anchor: string): string {
  if (anchor.startsWith('policy-')) return policyPath(anchor.slice('policy-'.length));
  if (anchor.startsWith('canary-')) return `/canaries#${encodeURIComponent(anchor)}`;
  return /^(?:source-|reconciliation-|accounts$)/.test(anchor)
    ? `/sources#${encodeURIComponent(anchor)}`
    : `#${anchor}`;
}
