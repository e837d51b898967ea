/** Addresses of the pages. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';

/** Page of a policy. That of a manual plan is the plan's. */
export function policyPath(name: string): string {
  const plan = manualPlanId(name);
  if (plan !== undefined) return planPath(plan);
  return `/policies/${encodeURIComponent(name)}`;
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

/** Id of a row on the page of its kind. */
export function sourceAnchor({ account, collector }: { readonly account: string; readonly collector: string }): string {
  return `source-${account}-${collector}`;
}

export function reconciliationAnchor({ account, state }: { readonly account: string; readonly state: string }): string {
  return `reconciliation-${account}-${state}`;
}

export function canaryAnchor({ account, canary }: { readonly account: string; readonly canary: string }): string {
  return `canary-${account}-${canary}`;
}

export function rowPath(page: '/sources' | '/canaries', anchor: string): string {
  return `${page}#${encodeURIComponent(anchor)}`;
}
