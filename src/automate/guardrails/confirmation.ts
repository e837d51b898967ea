import type { RaiseFacts } from './guard.ts';

/** Requires several readings that agree, since one may be wrong, unless an operator approved the plan. */
export function confirmation({
  unconfirmed,
  isApproved,
}: RaiseFacts): { readonly verdict: 'hold'; readonly reason: string } | undefined {
  return unconfirmed === undefined || isApproved ? undefined : { verdict: 'hold', reason: unconfirmed };
}
