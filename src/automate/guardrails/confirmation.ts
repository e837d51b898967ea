import type { RaiseFacts } from './guard.ts';

/** One reading may be wrong: several must agree, unless a person has seen the plan. */
export function confirmation({
  unconfirmed,
  isApproved,
}: RaiseFacts): { readonly verdict: 'hold'; readonly reason: string } | undefined {
  return unconfirmed === undefined || isApproved ? undefined : { verdict: 'hold', reason: unconfirmed };
}
